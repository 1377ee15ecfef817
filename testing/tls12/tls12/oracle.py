"""RFC 7924's bytes read a second time, by hand and alone: an oracle for `cached_info.py` and for other readers.

    python3 -m tls12.oracle offer HEX
    python3 -m tls12.oracle selection HEX TYPE...       what was offered; none: the extension was not
    python3 -m tls12.oracle message HEX FINGERPRINT...  a message that was announced as cached

HEX is the extension's body, or the whole handshake message. Prints JSON: what was read, or the alert. It imports
nothing of this package, on purpose, and walks over indices where the other reader consumes.
"""

import hashlib
import json
import sys

DECODE_ERROR, ILLEGAL_PARAMETER, UNSUPPORTED_EXTENSION, UNEXPECTED_MESSAGE = 50, 47, 110, 10
CERTIFICATE, CERTIFICATE_REQUEST = 0x0B, 0x0D
KNOWN = {1: CERTIFICATE, 2: CERTIFICATE_REQUEST}


class Refused(Exception):
    def __init__(self, alert):
        super().__init__(alert)
        self.alert = alert


def offer(data):
    """[(type, fingerprint)] in order."""
    if len(data) < 2 or data[0] * 256 + data[1] != len(data) - 2 or len(data) == 2:
        raise Refused(DECODE_ERROR)
    found, at = [], 2
    while at != len(data):
        if at + 2 > len(data) or data[at + 1] == 0 or at + 2 + data[at + 1] > len(data):
            raise Refused(DECODE_ERROR)
        stop = at + 2 + data[at + 1]
        if data[at] in KNOWN and stop - at != 34:
            raise Refused(DECODE_ERROR)
        found.append((data[at], data[at + 2 : stop]))
        at = stop
    return found


def selection(data, types_offered, is_resumed=False):
    """Sorted types."""
    if not types_offered:
        raise Refused(UNSUPPORTED_EXTENSION)
    if len(data) < 3 or int.from_bytes(data[:2], "big") + 2 != len(data):
        raise Refused(DECODE_ERROR)
    chosen = sorted(data[2:])
    if is_resumed or any(one not in types_offered or chosen.count(one) != 1 for one in chosen):
        raise Refused(ILLEGAL_PARAMETER)
    return chosen


def abbreviated(message, fingerprints):
    """The fingerprint in a Certificate or CertificateRequest that was announced as cached."""
    if not message or message[0] not in KNOWN.values():
        raise Refused(UNEXPECTED_MESSAGE)
    if len(message) != 37 or message[1:5] != b"\0\0\x21\x20":
        raise Refused(DECODE_ERROR)
    if message[5:] not in fingerprints:
        raise Refused(ILLEGAL_PARAMETER)
    return message[5:]


def fingerprint_of_chain(chain):
    """Of the Certificate message that carries it (RFC 7924, 5)."""
    entries = b""
    for certificate in chain:
        entries += len(certificate).to_bytes(3, "big") + certificate
    listed = len(entries).to_bytes(3, "big") + entries
    return hashlib.sha256(b"\x0b" + len(listed).to_bytes(3, "big") + listed).digest()


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("offer", "selection", "message"):
        print(__doc__, file=sys.stderr)
        return 2
    data = bytes.fromhex(arguments[1])
    try:
        if arguments[0] == "offer":
            read = [{"type": kind, "fingerprint": value.hex()} for kind, value in offer(data)]
        elif arguments[0] == "selection":
            read = selection(data, [int(one) for one in arguments[2:]])
        else:
            read = abbreviated(data, [bytes.fromhex(one) for one in arguments[2:]]).hex()
        print(json.dumps({"read": read}))
    except Refused as refused:
        print(json.dumps({"alert": refused.alert}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
