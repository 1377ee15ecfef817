"""Streams of TLS 1.2 taken apart: bytes by message and direction, whichever programs the ends are.

A message has the header of its record with it: the paper counts so. Where a record holds several messages, the first
has the header. Behind ChangeCipherSpec a handshake record is the Finished.
"""

from .. import record
from ..messages import NAMES

CHANGE_CIPHER_SPEC, FINISHED, DATA, ALERT = "ChangeCipherSpec", "Finished", "application data", "alert"
TO_SERVER, TO_CLIENT = "client", "server"
# What is not the handshake.
AFTER = (DATA, ALERT)


def messages(stream: bytes) -> list:
    """[(name, bytes)] of one direction; together they are the whole stream."""
    found, at, is_sealed, torn = [], 0, False, b""
    while at < len(stream):
        content, length = stream[at], int.from_bytes(stream[at + 3 : at + 5], "big")
        body = stream[at + record.HEADER : at + record.HEADER + length]
        at += record.HEADER + length
        if at > len(stream):
            raise RuntimeError("a record is cut off")
        size = record.HEADER + length
        if content == record.CHANGE_CIPHER_SPEC:
            found.append((CHANGE_CIPHER_SPEC, size))
            is_sealed = True
        elif content == record.ALERT:
            found.append((ALERT, size))
        elif content == record.APPLICATION_DATA:
            found.append((DATA, size))
        elif is_sealed:
            found.append((FINISHED, size))
        else:
            torn = _handshake(torn + body, record.HEADER, found)
    return found


def _handshake(data: bytes, header: int, found: list) -> bytes:
    """Adds whole messages; what remains is the beginning of the next, which then has two records' headers."""
    while len(data) >= 4:
        length = 4 + int.from_bytes(data[1:4], "big")
        if len(data) < length:
            break
        found.append((NAMES.get(data[0], f"message {data[0]}"), header + length))
        data, header = data[length:], 0
    if header and data:
        raise RuntimeError("a message lies in several records, which is not read here")
    return data


def by_message(client: bytes, server: bytes) -> dict:
    """{"client Certificate": bytes, ...} in the order in which each end sent them."""
    sizes = {}
    for end, stream in ((TO_SERVER, client), (TO_CLIENT, server)):
        for name, size in messages(stream):
            key = f"{end} {name}"
            sizes[key] = sizes.get(key, 0) + size
    return sizes


def handshake_bytes(sizes: dict) -> int:
    return sum(size for key, size in sizes.items() if key.split(" ", 1)[1] not in AFTER)
