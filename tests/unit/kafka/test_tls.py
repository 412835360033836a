"""TLS files of a properties file: certificates and keys, in files or in line."""

import re
import ssl
from pathlib import Path

import pytest
from tests.unit.kafka.conftest import OPENER

from replan.kafka.api import Keys, UnsupportedKey, tls_context


def context(**written: str) -> ssl.SSLContext:
    keys = Keys({name.replace("_", "."): value for name, value in written.items()})
    made = tls_context(keys, used=True)
    keys.refuse_rest()
    assert made is not None
    return made


def test_an_authority_comes_from_a_file_a_folder_or_in_line(pem: Path) -> None:
    for found in (
        context(ssl_ca_location=str(pem / "ca.pem")),
        context(ssl_ca_pem=(pem / "ca.pem").read_text()),
    ):
        assert len(found.get_ca_certs()) == 1
        assert found.verify_mode is ssl.CERT_REQUIRED
    context(ssl_ca_location=str(pem))


def test_verification_is_switched_off_only_by_name() -> None:
    assert context().check_hostname
    assert not context(ssl_endpoint_identification_algorithm="none").check_hostname
    assert context(ssl_endpoint_identification_algorithm="none").verify_mode is ssl.CERT_REQUIRED
    assert context(enable_ssl_certificate_verification="false").verify_mode is ssl.CERT_NONE


def test_a_client_certificate_comes_from_files_or_in_line(pem: Path) -> None:
    certificate, key = pem / "ca.pem", pem / "key.pem"

    context(ssl_certificate_location=str(certificate), ssl_key_location=str(key))
    context(ssl_certificate_pem=certificate.read_text(), ssl_key_pem=key.read_text())
    context(
        ssl_certificate_location=str(certificate),
        ssl_key_location=str(pem / "encrypted.pem"),
        ssl_key_password=OPENER,
    )


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ({}, "ssl.key.password is missing; the private key of ssl.key.* is encrypted"),
        (
            {"ssl_key_password": "wrong-guess"},
            "ssl.key.password does not open the private key of ssl.key.*",
        ),
    ],
)
def test_a_key_that_cannot_be_opened_is_refused_without_asking_at_the_terminal(
    pem: Path, password: dict[str, str], said: str
) -> None:
    with pytest.raises(UnsupportedKey, match=re.escape(said)) as refused:
        context(
            ssl_certificate_location=str(pem / "ca.pem"),
            ssl_key_location=str(pem / "encrypted.pem"),
            **password,
        )

    assert "wrong-guess" not in str(refused.value)


def test_revocation_lists_are_checked_once_named(pem: Path) -> None:
    found = context(ssl_crl_location=str(pem / "ca.pem"))

    assert found.verify_flags & ssl.VERIFY_CRL_CHECK_LEAF
