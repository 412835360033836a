"""The keys of a properties file on their way to being understood, one by one.

What nobody takes is refused by name, with the right spelling where it is the Java client's.
"""

from collections.abc import Mapping

# The Java client's spelling of what librdkafka spells otherwise.
_JAVA_SPELLING = {
    "sasl.jaas.config": "sasl.username and sasl.password",
    "sasl.login.callback.handler.class": "sasl.oauthbearer.method=oidc",
    "sasl.oauthbearer.jwks.endpoint.url": "nothing: it is the brokers' side",
    "ssl.truststore.location": "ssl.ca.location (a PEM file)",
    "ssl.truststore.password": "nothing: a PEM file of CA certificates has no password",
    "ssl.truststore.type": "nothing",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.type": "nothing",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
}
_PEM_INSTEAD = "use ssl.certificate.location and ssl.key.location (openssl pkcs12 makes both)"


class UnsupportedKey(Exception):
    """A property that cannot be used; the message names the key, never its value."""


class Keys:
    """The security keys of a file; each is taken once, and what is left over was not understood."""

    def __init__(self, written: Mapping[str, str]) -> None:
        self._left = dict(written)

    def take(self, key: str) -> str | None:
        """The value of a key, if it was written and is not empty."""
        return self._left.pop(key, None) or None

    def require(self, key: str, because: str) -> str:
        """The value of a key that must be written."""
        value = self.take(key)
        if value is None:
            raise UnsupportedKey(f"{key} is missing; {because} needs it")
        return value

    def choose(self, key: str, allowed: Mapping[str, str], default: str) -> str:
        """One of the allowed values, whatever its case."""
        value = self.take(key)
        if value is None:
            return default
        if value.lower() not in allowed:
            raise UnsupportedKey(f"{key} must be one of {', '.join(allowed)}")
        return allowed[value.lower()]

    def refuse_rest(self) -> None:
        """Refuse what nobody took."""
        for key in sorted(self._left):
            if key in _JAVA_SPELLING:
                raise UnsupportedKey(
                    f"{key} is the Java client's spelling; write {_JAVA_SPELLING[key]} instead"
                )
            if key.startswith("ssl.keystore."):
                raise UnsupportedKey(f"{key} is not supported; {_PEM_INSTEAD}")
            raise UnsupportedKey(f"{key} is not supported, and a security key is never ignored")
