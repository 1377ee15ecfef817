"""Resets, and messages of return routability checks (docs/dtls-mobility.md)."""

import hmac
from pathlib import Path

from primitives import aes, aes_gcm_open, xor
from reading import Reader, Values, expect, number

VECTORS = Path(__file__).parents[2] / "docs" / "dtls-mobility-vectors.txt"
RETURN_ROUTABILITY_CHECK = 27


def reset(values: Values):
    key, association = values["key"], values["number"]
    for index in (0, 1):
        nonce = values[f"nonce {index}"]
        mask = mac(key, b"tessera connection id", nonce)[:5]
        expect("connection ID", values[f"connection ID {index}"], nonce + xor(association, mask))
    token = mac(key, b"tessera reset token", association)[:16]
    expect("token", values["token"], token)
    start = b"\x2b" + values["random bytes"]
    expect("reset", values["reset"], start + hmac.digest(token, start, "sha256")[:16])


def mac(key: bytes, label: bytes, message: bytes) -> bytes:
    return hmac.digest(key, label + b"\0" + message, "sha256")


def check_of_a_path(values: Values):
    """RFC 9853, 4; records without a length, and with a connection ID (RFC 9147, 4)."""
    cookie = values["cookie"]
    for kind, name in enumerate(("path_challenge", "path_response", "path_drop")):
        expect(name, values[name], bytes([kind]) + cookie)
    assert number(values["suite"]) == 0x1301
    secret, connection_id = values["traffic secret"], values["connection ID"]
    sequence = values["sequence number"]
    key, number_key = expand_label(secret, b"key", 16), expand_label(secret, b"sn", 16)
    record = Reader(values["record"])
    first = record.take(1)
    expect("first byte", first, bytes([0b00111000 | number(values["epoch"])]))
    expect("connection ID", record.take(len(connection_id)), connection_id)
    encrypted, sealed = record.take(2), record.data
    expect("sequence number", xor(encrypted, aes(number_key, sealed[:16])), sequence)
    nonce = xor(expand_label(secret, b"iv", 12), bytes(10) + sequence)
    inner = aes_gcm_open(key, nonce, first + connection_id + sequence, sealed)
    expect("record", inner, values["path_response"] + bytes([RETURN_ROUTABILITY_CHECK]))


def expand_label(secret: bytes, label: bytes, length: int) -> bytes:  # RFC 9147, 5.9
    label = b"dtls13" + label
    info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
    return hmac.digest(secret, info + b"\1", "sha256")[:length]


SECTIONS = {"reset": reset, "return routability check": check_of_a_path}
