"""The cluster's certificate authority: made anew in each process, so that its hash is real and nobody else's."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Authority:
    """A self-signed root certificate (PEM) and its private key."""

    certificate: str
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, now: datetime) -> "Authority":
        """A new authority, valid for ten years as kubeadm's is."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_encipherment=True,
            key_cert_sign=True,
            content_commitment=False,
            data_encipherment=False,
            key_agreement=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(serialization.Encoding.PEM).decode(), key)

    @property
    def hash(self) -> str:
        """`sha256:<hex of the DER of the public key's SPKI>`: what kubeadm pins as caCertHashes (facts: TPU 4)."""
        return spki_hash(self.certificate)


def spki_hash(certificate: str) -> str:
    """The pin of the first certificate of a PEM text. Raises ValueError if there is none."""
    public = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256:" + hashlib.sha256(spki).hexdigest()
