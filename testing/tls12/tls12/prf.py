"""The PRF of TLS 1.2 with SHA-384, and what is derived by it (RFC 5246, 5, 6.3, 7.4.9, 8.1; RFC 7627)."""

import hashlib
import hmac

MASTER_SECRET_LENGTH = 48
VERIFY_DATA_LENGTH = 12


def prf(secret: bytes, label: bytes, seed: bytes, length: int) -> bytes:
    seed = label + seed
    out, a = b"", seed
    while len(out) < length:
        a = _hmac(secret, a)
        out += _hmac(secret, a + seed)
    return out[:length]


def master_secret(premaster: bytes, client_random: bytes, server_random: bytes) -> bytes:
    return prf(premaster, b"master secret", client_random + server_random, MASTER_SECRET_LENGTH)


def extended_master_secret(premaster: bytes, transcript: bytes) -> bytes:
    """Over the messages up to and with ClientKeyExchange: so bound to both certificates."""
    return prf(premaster, b"extended master secret", digest(transcript), MASTER_SECRET_LENGTH)


def verify_data(secret: bytes, label: bytes, transcript: bytes) -> bytes:
    return prf(secret, label, digest(transcript), VERIFY_DATA_LENGTH)


def key_block(secret: bytes, client_random: bytes, server_random: bytes) -> tuple:
    """Two keys of AES-256 and two salts of 4 bytes: the client's, the server's (RFC 5288)."""
    block = prf(secret, b"key expansion", server_random + client_random, 72)
    return (block[:32], block[64:68]), (block[32:64], block[68:72])


def digest(transcript: bytes) -> bytes:
    return hashlib.sha384(transcript).digest()


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha384).digest()
