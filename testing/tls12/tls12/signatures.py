"""Signature schemes (RFC 5246, 7.4.1.4.1; RFC 8446, 4.2.3; RFC 8422): who can make which, and checks.

Fifteen schemes make a CertificateRequest of 45 bytes, which is the paper's. SHA-224 and SHA-1 are there for that.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa

from .alerts import DECRYPT_ERROR, HANDSHAKE_FAILURE, ILLEGAL_PARAMETER, Alert

ECDSA, PKCS1, PSS, ED25519, ED448 = "ecdsa", "pkcs1", "pss", "ed25519", "ed448"

# The first is preferred.
SCHEMES = {
    0x0403: (ECDSA, hashes.SHA256),
    0x0503: (ECDSA, hashes.SHA384),
    0x0603: (ECDSA, hashes.SHA512),
    0x0807: (ED25519, None),
    0x0808: (ED448, None),
    0x0804: (PSS, hashes.SHA256),
    0x0805: (PSS, hashes.SHA384),
    0x0806: (PSS, hashes.SHA512),
    0x0401: (PKCS1, hashes.SHA256),
    0x0501: (PKCS1, hashes.SHA384),
    0x0601: (PKCS1, hashes.SHA512),
    0x0303: (ECDSA, hashes.SHA224),
    0x0301: (PKCS1, hashes.SHA224),
    0x0203: (ECDSA, hashes.SHA1),
    0x0201: (PKCS1, hashes.SHA1),
}

RSA_SIGN, ECDSA_SIGN = 1, 64  # ClientCertificateType


def client_certificate_type(public_key) -> int:
    return RSA_SIGN if isinstance(public_key, rsa.RSAPublicKey) else ECDSA_SIGN


def kinds_of(public_key) -> tuple:
    for key_type, kinds in (
        (rsa.RSAPublicKey, (PSS, PKCS1)),
        (ec.EllipticCurvePublicKey, (ECDSA,)),
        (ed25519.Ed25519PublicKey, (ED25519,)),
        (ed448.Ed448PublicKey, (ED448,)),
    ):
        if isinstance(public_key, key_type):
            return kinds
    return ()


def choose(public_key, offered: list) -> int:
    """The peer's first that the key can make."""
    kinds = kinds_of(public_key)
    for scheme in offered:
        if scheme in SCHEMES and SCHEMES[scheme][0] in kinds:
            return scheme
    raise Alert(HANDSHAKE_FAILURE, "the peer accepts no signature scheme of this end's key")


def sign(private_key, scheme: int, data: bytes) -> bytes:
    return private_key.sign(data, *_parameters(scheme))


def verify(public_key, scheme: int, signature: bytes, data: bytes):
    if scheme not in SCHEMES or SCHEMES[scheme][0] not in kinds_of(public_key):
        raise Alert(ILLEGAL_PARAMETER, f"signature scheme {scheme:#06x} doesn't fit the certificate's key")
    try:
        public_key.verify(signature, data, *_parameters(scheme))
    except InvalidSignature:
        raise Alert(DECRYPT_ERROR, "the peer's signature is wrong") from None


def _parameters(scheme: int) -> tuple:
    kind, hash_type = SCHEMES[scheme]
    if kind == ECDSA:
        return (ec.ECDSA(hash_type()),)
    if kind == PKCS1:
        return padding.PKCS1v15(), hash_type()
    if kind == PSS:  # the salt is as long as the hash
        return padding.PSS(padding.MGF1(hash_type()), hash_type.digest_size), hash_type()
    return ()
