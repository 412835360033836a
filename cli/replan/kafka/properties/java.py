"""The Java client's spelling of security keys, as librdkafka spells them: the same file serves Kafka's own tools.

Both clients of replan take what comes out, so one connection is never secured otherwise than the other. Certificates
and keys of a keystore go through OpenSSL's program, since no library that replan needs reads PKCS12; they are never
written to a disk.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from replan.kafka.properties.keys import UnsupportedKey
from replan.kafka.properties.tls import Keystore, opened

JAAS = "sasl.jaas.config"
CONTINUED = frozenset(
    {JAAS, "ssl.truststore.certificates", "ssl.keystore.key", "ssl.keystore.certificate.chain"}
)
"""Java's own keys: their values may go on in the next line, after a backslash."""
_HANDLER = "sasl.login.callback.handler.class"
_OWN_HANDLERS = frozenset(
    {
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    }
)
_OPTION = re.compile(r'\s*([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]+)')
_PASSWORDS = {"username": "sasl.username", "password": "sasl.password"}
_TOKENS = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_EXTENSION = "extension_"
_PROTOCOLS = frozenset({"TLS", "TLSv1.2", "TLSv1.3"})


def in_librdkafkas_spelling(written: Mapping[str, str]) -> dict[str, str]:
    """The keys with all that only Java spells so put otherwise; one that stands in both spellings is refused."""
    left = dict(written)
    found = {**_login(left), **_authorities(left), **_own_certificate(left), **_verification(left)}
    for key in sorted(found.keys() & left.keys()):
        raise UnsupportedKey(f"{key} is there in the Java client's spelling, too; keep one of them")
    return {**left, **found}


def _login(left: dict[str, str]) -> dict[str, str]:
    config, handler = left.pop(JAAS, None), left.get(_HANDLER)
    if handler in _OWN_HANDLERS:
        del left[_HANDLER]
    if not config:
        return {}
    module, options = _jaas(config)
    match module.rpartition(".")[2]:
        case "PlainLoginModule" | "ScramLoginModule":
            return _named(options, _PASSWORDS)
        case "OAuthBearerLoginModule":
            said = {k.removeprefix(_EXTENSION): v for k, v in options.items() if _extends(k)}
            more = {"sasl.oauthbearer.extensions": ",".join(f"{k}={v}" for k, v in said.items())}
            usual = {k: v for k, v in options.items() if not _extends(k)}
            return {
                "sasl.oauthbearer.method": "oidc",
                **_named(usual, _TOKENS),
                **(more if said else {}),
            }
        case "Krb5LoginModule":
            raise UnsupportedKey(
                f"{JAAS}: a Krb5LoginModule is not read; log in with `kinit` (-kt KEYTAB), "
                "and write sasl.mechanism=GSSAPI and sasl.kerberos.service.name"
            )
        case _:
            raise UnsupportedKey(
                f"{JAAS}: its login module must be Plain-, Scram- or OAuthBearerLoginModule"
            )


def _jaas(config: str) -> tuple[str, dict[str, str]]:
    """The login module, and its options: `MODULE required username="…" password="…";`."""
    module, _, rest = config.strip().partition(" ")
    flag, _, rest = rest.strip().partition(" ")
    options, at = dict[str, str](), 0
    while (found := _OPTION.match(rest, at)) is not None:
        value = found[2]
        options[found[1]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value
        at = found.end()
    if flag.rstrip(";") not in {"required", "requisite", "sufficient", "optional"}:
        raise UnsupportedKey(f'{JAAS}: it must be MODULE required NAME="VALUE" …;')
    if rest[at:].strip() not in {"", ";"}:
        raise UnsupportedKey(
            f'{JAAS}: an option is not NAME="VALUE", or more than one module is there'
        )
    return module, options


def _extends(option: str) -> bool:
    return option.startswith(_EXTENSION)


def _named(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        raise UnsupportedKey(f"{JAAS}: the option {unknown[0]} is not supported; remove it")
    return {names[option]: value for option, value in options.items()}


def _authorities(left: dict[str, str]) -> dict[str, str]:
    """Whom to trust: a PEM file, a PKCS12 file, or certificates in the value."""
    store = _store(left, "truststore")
    certificates = left.pop("ssl.truststore.certificates", None)
    if certificates:
        return {"ssl.ca.pem": certificates}
    if store is None:
        return {}
    return (
        {"ssl.ca.location": str(store.path)} if store.is_pem else {"ssl.ca.pem": opened(store).all}
    )


def _own_certificate(left: dict[str, str]) -> dict[str, str]:
    """By what this client proves who it is; a PKCS12 file is also librdkafka's `ssl.keystore.location`."""
    store = _store(left, "keystore")
    key, chain = (
        left.pop("ssl.keystore.key", None),
        left.pop("ssl.keystore.certificate.chain", None),
    )
    if key or chain:
        given = {"ssl.key.pem": key, "ssl.certificate.pem": chain}
        return {name: value for name, value in given.items() if value}
    if store is None:
        return {}
    if store.is_pem:
        return {name: str(store.path) for name in ("ssl.key.location", "ssl.certificate.location")}
    left.pop("ssl.key.password", None)  # the one of a key in PKCS12 is the keystore's
    found = opened(store)
    if not found.key or not found.chain:
        raise UnsupportedKey(f"{store.key}: there is no private key with its certificate in it")
    return {"ssl.key.pem": found.key, "ssl.certificate.pem": found.chain}


def _store(left: dict[str, str], kind: str) -> Keystore | None:
    location, password, _type = (
        left.pop(f"ssl.{kind}.{name}", None) for name in ("location", "password", "type")
    )
    key = f"ssl.{kind}.location"
    return Keystore(key, Path(location), password or "") if location else None


def _verification(left: dict[str, str]) -> dict[str, str]:
    """An empty algorithm is Java's way to say none; of protocols there are those that replan speaks in any case."""
    for key in ("ssl.protocol", "ssl.enabled.protocols"):
        named = [p.strip() for p in left.get(key, "").split(",") if p.strip()]
        if key in left and {*named} <= _PROTOCOLS:
            del left[key]
    if left.get("ssl.endpoint.identification.algorithm") == "":
        del left["ssl.endpoint.identification.algorithm"]
        return {"ssl.endpoint.identification.algorithm": "none"}
    return {}
