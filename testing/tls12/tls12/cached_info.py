"""cached_info (RFC 7924): what the client offers, what the server selects, and the message with a fingerprint.

`oracle.py` reads the same bytes and shares no code with this file.
"""

import hashlib
from collections import namedtuple

from .alerts import DECODE_ERROR, ILLEGAL_PARAMETER, UNSUPPORTED_EXTENSION, Alert
from .messages import message
from .wire import Reader, vector

CERT, CERT_REQ = 1, 2
FINGERPRINT_LENGTH = 32

CachedObject = namedtuple("CachedObject", "kind fingerprint")


def fingerprint(whole_message: bytes) -> bytes:
    """Over the handshake message with its header, as it goes on the wire when it is whole (section 5)."""
    return hashlib.sha256(whole_message).digest()


# --- The ClientHello


def offer(objects: list) -> bytes:
    assert objects, "an empty list can't be written: the extension is then absent"
    return vector(2, b"".join(bytes([one.kind]) + vector(1, one.fingerprint) for one in objects))


def read_offer(data: bytes) -> list:
    """All that were offered, of unknown types too, which a server passes over."""
    reader = Reader(data, "cached_info of the client")
    entries, objects = reader.inner(2), []
    reader.end()
    if not entries:
        raise Alert(DECODE_ERROR, "cached_info offers nothing")
    while entries:
        kind, value = entries.number(1), entries.vector(1)
        if not value or (kind in (CERT, CERT_REQ) and len(value) != FINGERPRINT_LENGTH):
            raise Alert(DECODE_ERROR, f"a fingerprint of {len(value)} bytes for type {kind}")
        objects.append(CachedObject(kind, value))
    return objects


# --- The ServerHello


def selection(kinds: list) -> bytes:
    return vector(2, bytes(kinds))


def read_selection(data, offered: list, is_resumed: bool) -> set:
    """The types that the server abbreviates. `data` is None where it did not answer."""
    if data is None:
        return set()
    if not offered:
        raise Alert(UNSUPPORTED_EXTENSION, "the server answers cached_info, which was not offered")
    reader = Reader(data, "cached_info of the server")
    kinds = reader.vector(2)
    reader.end()
    if not kinds:
        raise Alert(DECODE_ERROR, "cached_info selects nothing")
    if is_resumed:
        raise Alert(ILLEGAL_PARAMETER, "cached_info in a resumed session, which has no certificates")
    if not set(kinds) <= {one.kind for one in offered}:
        raise Alert(ILLEGAL_PARAMETER, "cached_info selects a type that was not offered")
    if len(set(kinds)) < len(kinds):
        raise Alert(ILLEGAL_PARAMETER, "cached_info selects a type twice")
    return set(kinds)


# --- The message


def abbreviated(whole_message: bytes) -> bytes:
    return message(whole_message[0], vector(1, fingerprint(whole_message)))


def read_abbreviated(body: bytes, kind: int, offered: list) -> bytes:
    """The fingerprint, which must be one that was offered for this type."""
    reader = Reader(body, "a message that was announced as cached")
    value = reader.vector(1)
    reader.end()
    if len(value) != FINGERPRINT_LENGTH:
        raise Alert(DECODE_ERROR, f"a fingerprint of {len(value)} bytes")
    if CachedObject(kind, value) not in offered:
        raise Alert(ILLEGAL_PARAMETER, "the server abbreviates by a fingerprint that was not offered")
    return value
