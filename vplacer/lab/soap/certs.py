"""A throw-away certificate authority and a server certificate, made anew at each start."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_LIFETIME = timedelta(days=7)
_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """``context`` for the server; ``ca_pem`` for its clients to verify it with."""

    context: ssl.SSLContext
    ca_pem: bytes


def make_certificates(names: Sequence[str] = ()) -> Certificates:
    """Make a CA and a certificate for localhost, 127.0.0.1, ::1 and the given names or addresses."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    ca_key = ec.generate_private_key(ec.SECP256R1())
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    ca = _ca_certificate(ca_key, now)
    server = _server_certificate(key.public_key(), ca_key, (*LOOPBACK_NAMES, *names), now)
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificates(_context(server.public_bytes(pem) + secret), ca.public_bytes(pem))


def _context(chain_and_key: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # load_cert_chain reads files only; this one has mode 600 and is gone at once.
    with tempfile.NamedTemporaryFile() as file:
        file.write(chain_and_key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _builder(subject: str, public_key: ec.EllipticCurvePublicKey, now: datetime) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    return (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name("vplacer lab CA"))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _ca_certificate(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder("vplacer lab CA", key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server_certificate(
    public_key: ec.EllipticCurvePublicKey,
    ca_key: ec.EllipticCurvePrivateKey,
    names: Sequence[str],
    now: datetime,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    # With these extensions it passes Go's verifier and VERIFY_X509_STRICT (default from Python 3.13).
    return (
        _builder("vplacer lab vCenter", public_key, now)
        .add_extension(x509.SubjectAlternativeName([_alternative(n) for n in dict.fromkeys(names)]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(ca_key, hashes.SHA256())
    )


def _alternative(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
