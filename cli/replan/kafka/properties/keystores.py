"""Java's keystores: what kind a file is, and the PEM that is in a PKCS12 one. Passwords go through a pipe."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from replan.kafka.properties.keys import UnsupportedKey

_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_BLOCKS = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Keystore:
    """A file of certificates and keys, and the property that names it."""

    key: str
    path: Path
    password: str = field(repr=False)

    @property
    def is_pem(self) -> bool:
        """Whether both clients read it as it is; raises UnsupportedKey where nobody can, or Java alone (JKS)."""
        try:
            begins = self.path.read_bytes()[:4096]
        except FileNotFoundError as problem:
            raise UnsupportedKey(f"{self.key}: there is no such file") from problem
        except OSError as problem:
            raise UnsupportedKey(f"{self.key}: cannot be read: {problem.strerror}") from problem
        if begins.startswith((_JKS, _JCEKS)):
            raise UnsupportedKey(
                f"{self.key}: a JKS file is read by Java alone; make a PKCS12 file of it, and name that:\n"
                f"  keytool -importkeystore -srckeystore {self.path} "
                f"-destkeystore {self.path.with_suffix('.p12')} -deststoretype PKCS12"
            )
        return b"-----BEGIN " in begins


@dataclass(frozen=True, slots=True)
class Opened:
    """What is in a keystore, as PEM."""

    key: str = field(repr=False)
    """Without a password; empty where there is none."""
    chain: str
    """The certificate of the key, then who signed it."""
    all: str
    """Every certificate."""


def opened(store: Keystore) -> Opened:
    """Read a PKCS12 file; raises UnsupportedKey."""
    own, others = _pem(store, "-nokeys", "-clcerts"), _pem(store, "-nokeys", "-cacerts")
    return Opened(_pem(store, "-nocerts", "-nodes"), own + others, own + others)


def _pem(store: Keystore, *what: str) -> str:
    """Java of before 2021 encrypts with ciphers that OpenSSL 3 has put aside (`-legacy`)."""
    asked = ["openssl", "pkcs12", "-in", str(store.path), "-passin", "stdin", *what]
    done = _run(asked, store)
    if done.returncode and "unsupported" in done.stderr:
        done = _run([*asked, "-legacy"], store)
    if done.returncode:
        wrong = "invalid password" in done.stderr or "mac verify" in done.stderr.lower()
        password = f"{store.key.rpartition('.')[0]}.password"
        raise UnsupportedKey(
            f"{password} does not open the file of {store.key}"
            if wrong
            else f"{store.key}: it is neither PEM nor PKCS12"
        )
    return "".join(found[0] for found in _BLOCKS.finditer(done.stdout))


def _run(command: list[str], store: Keystore) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603 - the file is one argument, and no option
            command,
            input=f"{store.password}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UnsupportedKey(
            f"{store.key}: a PKCS12 file is read by the program openssl, which cannot be run here; install it, or "
            "name a PEM file instead"
        ) from problem
