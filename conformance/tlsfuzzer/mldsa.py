#!/usr/bin/env python3
"""Makes ML-DSA keys and certificates: mldsa.py DIRECTORY NAME...

A certificate NAME-mldsaNN.pem is NAME-p256.pem, which ca.pem issued, with another key in it and signed
again. OpenSSL knows ML-DSA from version 3.5 on alone; this needs dilithium-py, as tlsfuzzer does.
"""

import base64
import os
import subprocess
import sys
from pathlib import Path

from dilithium_py.ml_dsa import ML_DSA_44, ML_DSA_65
from dilithium_py.ml_dsa.pkcs import pk_to_der, sk_to_pem

KINDS = {"mldsa44": ML_DSA_44, "mldsa65": ML_DSA_65}
SEQUENCE, BIT_STRING = 0x30, 0x03


def main():
    directory = Path(sys.argv[1])
    for name in sys.argv[2:]:
        for kind, algorithm in KINDS.items():
            seed = os.urandom(32)
            public, secret = algorithm.key_derive(seed)
            key = sk_to_pem(algorithm, secret, seed)
            (directory / f"{name}-{kind}.key").write_bytes(key if isinstance(key, bytes) else key.encode())
            certificate = with_key(directory, f"{name}-p256.pem", pk_to_der(algorithm, public))
            (directory / f"{name}-{kind}.pem").write_text(certificate)


def with_key(directory, original, public_key):
    """The certificate with another SubjectPublicKeyInfo (RFC 5280 §4.1), issued again."""
    text = (directory / original).read_text()
    der = base64.b64decode("".join(line for line in text.splitlines() if "-----" not in line))
    to_be_signed, algorithm, _ = elements(elements(der)[0], inside=True)
    fields = elements(to_be_signed, inside=True)
    # version, serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo
    fields[6] = public_key
    to_be_signed = element(SEQUENCE, b"".join(fields))
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", "ca.key"], cwd=directory,
                               input=to_be_signed, stdout=subprocess.PIPE, check=True).stdout
    der = element(SEQUENCE, to_be_signed + algorithm + element(BIT_STRING, b"\0" + signature))
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----\n"


def elements(der, inside=False):
    """The DER elements one after another, or those inside of the first one."""
    found = []
    while der:
        start, length = 2, der[1]
        if length >= 0x80:
            start = 2 + length - 0x80
            length = int.from_bytes(der[2:start], "big")
        if inside:
            return elements(der[start : start + length])
        found.append(der[: start + length])
        der = der[start + length :]
    return found


def element(tag, contents):
    """One DER element."""
    length = len(contents)
    if length < 0x80:
        return bytes([tag, length]) + contents
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 + size]) + length.to_bytes(size, "big") + contents


if __name__ == "__main__":
    main()
