"""Chain hashes, ids, tickets and encoded Certificates, as docs/cached-handshakes.md has them.

The numbers in comments are its sections.
"""

import hashlib
import hmac

from cached_readers import read_content
from reading import Reader, number, vector

CERTIFICATE, COMPRESSED_CERTIFICATE = 11, 25
X509, RAW_PUBLIC_KEY = 0, 2


# --- 3. The chain hash


def message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + vector(3, body)


def certificate_of_tls12(kind: int, certificates: list) -> bytes:
    """What is hashed: Certificate as TLS 1.2 has it."""
    assert kind in (X509, RAW_PUBLIC_KEY)
    if kind == RAW_PUBLIC_KEY:
        (key,) = certificates
        assert key[:1] == b"\x30", "no SubjectPublicKeyInfo"
        return message(CERTIFICATE, vector(3, key))
    assert certificates, "no certificate has no hash"
    return message(CERTIFICATE, vector(3, b"".join(vector(3, it) for it in certificates)))


def chain_hash(kind: int, certificates: list) -> bytes:
    return hashlib.sha256(certificate_of_tls12(kind, certificates)).digest()


def read_certificate(whole: bytes) -> tuple:
    """The certificates of a Certificate of TLS 1.3, and the extensions of each."""
    body = Reader(whole).message(CERTIFICATE)
    assert body.vector(1) == b"", "a context: that is no handshake's"
    entries = Reader(body.vector(3))
    body.end()
    certificates, extensions = [], []
    while entries.data:
        certificates.append(entries.vector(3))
        extensions.append(entries.vector(2))
    return certificates, extensions


def write_certificate(certificates: list, extensions: list) -> bytes:
    pairs = zip(certificates, extensions, strict=True)
    entries = b"".join(vector(3, it) + vector(2, its) for it, its in pairs)
    return message(CERTIFICATE, b"\0" + vector(3, entries))


# --- 5. Ids


def salted_id(random: bytes, chain: bytes) -> bytes:
    return private(hashlib.sha256(b"tessera cached id" + random + chain).digest()[:2])


def public_id(chain: bytes) -> bytes:
    return private(chain[:2])


def private(two: bytes) -> bytes:
    return (0xC000 | number(two) & 0x3FFF).to_bytes(2, "big")


# --- 6. Tickets


def expand_label(hash, secret: bytes, label: str, context: bytes, length: int) -> bytes:
    info = length.to_bytes(2, "big") + vector(1, b"tls13 " + label.encode()) + vector(1, context)
    assert length <= hash().digest_size
    return hmac.new(secret, info + b"\x01", hash).digest()[:length]


def prf(hash, secret: bytes, label: str, seed: bytes, length: int) -> bytes:
    """RFC 5246, 5."""
    seed = label.encode() + seed
    a, out = seed, b""
    while len(out) < length:
        a = hmac.new(secret, a, hash).digest()
        out += hmac.new(secret, a + seed, hash).digest()
    return out[:length]


# --- 7. Contents


def content(whole: bytes, kind: int) -> bytes:
    certificates, extensions = read_certificate(whole)
    staples = b"".join(vector(2, its) for its in extensions) if any(extensions) else b""
    return chain_hash(kind, certificates) + staples


def compressed(whole: bytes, kind: int, identifier: bytes) -> bytes:
    length = (len(whole) - 4).to_bytes(3, "big")
    inside = content(whole, kind)
    made = message(COMPRESSED_CERTIFICATE, identifier + length + vector(3, inside))
    staples = read_content(inside)
    certificates = read_certificate(whole)[0]
    assert write_certificate(certificates, staples or [b""] * len(certificates)) == whole, "decoded"
    assert staples or len(made) == 44, "44 bytes without staples"
    return made
