"""Why TLS does not come about: whose certificate is not accepted, and what is wrong with it.

What is wrong with the broker's own, OpenSSL says (X509_V_ERR_…, x509_vfy.h). What a broker minds in the client's it
says by an alert (RFC 8446, 6.2), in TLS 1.3 only after the handshake, when the client reads for the first time. JSSE
sends `certificate_unknown` for one that has expired as for one whose authority it does not know, and, before TLS 1.3's
`certificate_required`, `bad_certificate` where there is none: which it is, the client's own properties say.
"""

import ssl
from enum import StrEnum

from kafka.errors import KafkaError


class CertificateProblem(StrEnum):
    """What is wrong, and with whose certificate."""

    NOT_TRUSTED = "not-trusted"
    EXPIRED = "expired"
    NOT_YET_VALID = "not-yet-valid"
    OTHER_NAME = "other-name"
    OWN_MISSING = "own-missing"
    OWN_EXPIRED = "own-expired"
    OWN_NOT_TRUSTED = "own-not-trusted"


class CertificateRefused(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """A certificate is not accepted, here or there; asking again does not help."""

    def __init__(self, problem: CertificateProblem, said: str) -> None:
        super().__init__(said)
        self.problem = problem


_BROKERS = {
    9: CertificateProblem.NOT_YET_VALID,
    10: CertificateProblem.EXPIRED,
    62: CertificateProblem.OTHER_NAME,  # a host's name
    64: CertificateProblem.OTHER_NAME,  # an address
}
_OWN = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": CertificateProblem.OWN_MISSING,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": CertificateProblem.OWN_EXPIRED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": CertificateProblem.OWN_NOT_TRUSTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": CertificateProblem.OWN_NOT_TRUSTED,
    "TLSV1_ALERT_UNKNOWN_CA": CertificateProblem.OWN_NOT_TRUSTED,
}
PROBLEM_WORDS = {
    CertificateProblem.NOT_TRUSTED: (
        "the broker's certificate is not trusted",
        "set ssl.ca.location in the client properties to the PEM file of the authority that signed it",
    ),
    CertificateProblem.EXPIRED: (
        "the broker's certificate has expired",
        "renew it on that broker, or set the clock of this machine right",
    ),
    CertificateProblem.NOT_YET_VALID: (
        "the broker's certificate is not valid yet",
        "set the clock of this machine right, or wait",
    ),
    CertificateProblem.OTHER_NAME: (
        "the broker's certificate is for another name",
        "connect by a name that stands in it",
    ),
    CertificateProblem.OWN_MISSING: (
        "the cluster wants a certificate of this client",
        "set ssl.certificate.location and ssl.key.location in the client properties",
    ),
    CertificateProblem.OWN_EXPIRED: (
        "the certificate of this client has expired",
        "renew the one that ssl.certificate.* of the client properties name",
    ),
    CertificateProblem.OWN_NOT_TRUSTED: (
        "the cluster does not trust the certificate of this client",
        "check that ssl.certificate.* of the client properties name one of an authority that the brokers know",
    ),
}
"""What it is, and what to do."""


def refused_certificate(problem: OSError) -> CertificateRefused | None:
    """The certificate that a failure of TLS is about; None where it is about something else."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        kind = _BROKERS.get(problem.verify_code, CertificateProblem.NOT_TRUSTED)
        return CertificateRefused(kind, problem.verify_message or str(problem))
    alert = getattr(problem, "reason", "")  # only what TLS itself raises has one
    return CertificateRefused(_OWN[alert], alert) if alert in _OWN else None
