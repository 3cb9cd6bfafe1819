"""TLS towards a vCenter: verified unless told otherwise, and why a certificate did not verify."""

from __future__ import annotations

import ssl
from pathlib import Path

from vplacer.errors import CertificateRejected, FileFormatError, UsageError
from vplacer.vsphere.address import Address

# X509_V_ERR_* of OpenSSL, as in ssl.SSLCertVerificationError.verify_code.
_NOT_YET_VALID = 9
_EXPIRED = 10
_UNKNOWN_ISSUER = {2, 18, 19, 20, 21, 27}
_WRONG_NAME = {62, 63, 64}


def make_context(*, ca_file: Path | None, ca_pem: str | None, insecure: bool) -> ssl.SSLContext:
    """Return the TLS context for a connection.

    Args:
        ca_file: PEM file of the authorities (or the one server certificate) to trust instead of the
            system's.
        ca_pem: the same as text.
        insecure: verify nothing. The caller warns about it.

    Raises:
        UsageError: the file cannot be read.
        FileFormatError: the file holds no PEM certificate.
    """
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca_file is not None:
        ca_pem = _read_ca_file(ca_file)
    try:
        context = ssl.create_default_context(cadata=ca_pem)
    except ssl.SSLError as error:
        raise FileFormatError(
            "holds no usable certificate",
            path=str(ca_file) if ca_file else "CA certificates",
            why=error.reason or str(error),
            hint="a PEM file is expected: -----BEGIN CERTIFICATE-----",
        ) from None
    # The same on every Python: 3.13 made partial chains acceptable, which lets a CA file hold just
    # the vCenter's own certificate, and turned on strict checks that the certificates many vCenters
    # issue to themselves do not pass (no Authority Key Identifier). Chain, name and dates are checked.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _read_ca_file(path: Path) -> str:
    try:
        text = path.read_text("ascii", errors="replace")
    except OSError as error:
        raise UsageError("cannot read the CA file", obj=str(path), why=error.strerror) from None
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise FileFormatError(
            "holds no certificate",
            path=str(path),
            hint="a PEM file is expected: -----BEGIN CERTIFICATE-----",
        )
    return text


def certificate_error(
    error: ssl.SSLCertVerificationError, address: Address, ca_file: Path | None
) -> CertificateRejected:
    """Return the error for a certificate that did not verify: which check failed, and the way out."""
    if error.verify_code == _EXPIRED:
        return CertificateRejected(
            "the vCenter's certificate has expired",
            obj=str(address),
            hint="renew it on the vCenter (Certificate Management), and check this machine's clock",
        )
    if error.verify_code == _NOT_YET_VALID:
        return CertificateRejected(
            "the vCenter's certificate is not valid yet",
            obj=str(address),
            hint="check this machine's clock, then the certificate",
        )
    if error.verify_code in _WRONG_NAME:
        return CertificateRejected(
            f"the vCenter's certificate is for another name than '{address.host}'",
            obj=str(address),
            why=error.verify_message,
            hint="use the name the certificate was issued for (usually the full DNS name)",
        )
    if error.verify_code in _UNKNOWN_ISSUER:
        hint = (
            "it does not belong to this vCenter, or lacks an intermediate authority"
            if ca_file
            else f"download the authority's certificate from https://{address}/certs/download.zip, "
            "check it, and pass it with --ca-file"
        )
        where = f"the authorities in {ca_file}" if ca_file else "any authority this machine trusts"
        return CertificateRejected(
            f"the vCenter's certificate was not issued by {where}",
            obj=str(address),
            why=error.verify_message,
            hint=hint,
        )
    return CertificateRejected(
        "the vCenter's certificate does not verify",
        obj=str(address),
        why=error.verify_message,
        hint="pass the authority's certificate with --ca-file",
    )
