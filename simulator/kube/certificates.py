"""The cluster's certificate authority, made anew for each simulated cluster, and the API server's certificate from it.

TLS is not for secrecy on loopback: kubectl sends a kubeconfig's token over TLS only, and joining VMs pin the CA's hash.
"""

import hashlib
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA. `certificate` is PEM; its key never leaves this object."""

    certificate: bytes
    _key: ec.EllipticCurvePrivateKey
    _made: datetime

    def __repr__(self) -> str:
        return f"Authority({self.public_key_hash()!r})"

    @classmethod
    def new(cls, now: datetime) -> "Authority":
        """A self-signed CA, as kubeadm makes one."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        certificate = (
            _unsigned(name, name, key, now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_ca_usage(), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(Encoding.PEM), key, now)

    def public_key_hash(self) -> str:
        """What `kubeadm join --discovery-token-ca-cert-hash` pins: `sha256:` + the hash of the public key info."""
        info = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return "sha256:" + hashlib.sha256(info).hexdigest()

    def server_context(self, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")) -> ssl.SSLContext:
        """TLS for a server at these addresses and names."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.load_pem_x509_certificate(self.certificate)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        certificate = (
            _unsigned(subject, issuer.subject, key, self._made)
            .add_extension(x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # The ssl module loads keys from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "server.pem")
            path.touch(mode=0o600)
            private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
            context.load_cert_chain(path)
        return context


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # The clocks of a simulated world and of its clients may differ.
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + 10 * _LIFE)
    )


def _ca_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
