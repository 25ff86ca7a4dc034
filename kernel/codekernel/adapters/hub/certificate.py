"""A certificate of the hub's own, for TLS where no authority knows the machine.

It is made once and kept under userData; its private key lies there encrypted, with a passphrase
that is in the vault. A device knows the hub by the certificate's fingerprint.
"""

import datetime as dt
import hashlib
import ipaddress
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from codekernel.adapters.hub.database import HUB_FOLDER
from codekernel.errors import StorageError
from codekernel.storage.safe_files import make_private_folder, write_bytes_atomically

CERTIFICATE_FILE, KEY_FILE = "certificate.pem", "certificate-key.pem"

# Apple's systems accept no longer ones.
CERTIFICATE_DAYS = 397

# A certificate that ends sooner is made anew.
_RENEW_DAYS = 30


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate and its key, as PEM files; ``passphrase`` is empty for a plain key."""

    certificate: Path
    key: Path
    passphrase: str = ""

    def read_fingerprint(self) -> str:
        """Return the SHA-256 fingerprint. Raises StorageError."""
        try:
            text = self.certificate.read_text("ascii")
            return format_fingerprint(ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN") :]))
        except (OSError, ValueError) as error:
            raise StorageError(f"{self.certificate} is no certificate: {error}") from error


def format_fingerprint(certificate: bytes) -> str:
    """Return the fingerprint of a DER certificate as browsers show it."""
    return hashlib.sha256(certificate).digest().hex(":").upper()


def open_own_certificate(user_data: Path, passphrase: str, names: Iterable[str]) -> TlsFiles:
    """Return the hub's certificate; make one if there is none, or if it ends soon.

    ``names`` are the host names and IP addresses that it is for. Raises StorageError.
    """
    folder = user_data / HUB_FOLDER
    files = TlsFiles(folder / CERTIFICATE_FILE, folder / KEY_FILE, passphrase)
    if not _is_usable(files):
        make_private_folder(folder)
        certificate, key = _make_certificate(passphrase, names)
        write_bytes_atomically(files.key, key)
        write_bytes_atomically(files.certificate, certificate)
    return files


def _is_usable(files: TlsFiles) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), files.passphrase.encode())
    except (OSError, ValueError, TypeError):
        return False
    is_pair = key.public_key() == certificate.public_key()
    left = certificate.not_valid_after_utc - dt.datetime.now(dt.UTC)
    return is_pair and left > dt.timedelta(days=_RENEW_DAYS)


def _make_certificate(passphrase: str, names: Iterable[str]) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "codekernel hub")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=CERTIFICATE_DAYS - 1))
        .add_extension(
            x509.SubjectAlternativeName([_make_name(name) for name in dict.fromkeys(names)]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(passphrase.encode()),
        ),
    )


def _make_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
