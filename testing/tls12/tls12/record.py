"""Records over a TCP socket: plain, then AES-256-GCM (RFC 5246, 6.2; RFC 5288), and a count of what passed.

A message is a record of its own, as wolfSSL sends them: the paper's 42 and 9 bytes count the record's header. A flight
leaves in one write, or each record in its own.
"""

from collections import namedtuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .alerts import (
    BAD_RECORD_MAC,
    CLOSE_NOTIFY,
    DECODE_ERROR,
    PROTOCOL_VERSION,
    RECORD_OVERFLOW,
    UNEXPECTED_MESSAGE,
    Alert,
    PeerAlert,
)
from .wire import u16

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
HEADER = 5
MOST_PLAIN = 2**14
MOST_SEALED = MOST_PLAIN + 2048
VERSION = b"\x03\x03"
# What no honest handshake has: it bounds what is kept for a peer that has proved nothing.
LONGEST_MESSAGE = 2**17

Count = namedtuple("Count", "direction content size")


class Protection:
    """One direction's key, salt and record number."""

    def __init__(self, key: bytes, salt: bytes):
        self.aead, self.salt, self.number = AESGCM(key), salt, 0

    def seal(self, content: int, data: bytes) -> bytes:
        explicit = self.number.to_bytes(8, "big")
        sealed = self.aead.encrypt(self.salt + explicit, data, self._header(content, len(data)))
        self.number += 1
        return explicit + sealed

    def open(self, content: int, data: bytes) -> bytes:
        if len(data) < 24:
            raise Alert(DECODE_ERROR, "a protected record is too short")
        header = self._header(content, len(data) - 24)
        self.number += 1
        try:
            return self.aead.decrypt(self.salt + data[:8], data[8:], header)
        except InvalidTag:
            raise Alert(BAD_RECORD_MAC, "a record does not open") from None

    def _header(self, content: int, length: int) -> bytes:
        return self.number.to_bytes(8, "big") + bytes([content]) + VERSION + u16(length)


class Records:
    """Both directions of one connection."""

    def __init__(self, socket, gathers: bool = True):
        self.socket, self.gathers = socket, gathers
        self.sealing = self.opening = None
        self.out = b""
        self.received = bytearray()
        self.messages = b""
        self.counts = []

    # --- Sending

    def put(self, content: int, data: bytes):
        """Into the flight, which leaves with `flush`."""
        while True:
            part, data = data[:MOST_PLAIN], data[MOST_PLAIN:]
            body = self.sealing.seal(content, part) if self.sealing else part
            record = bytes([content]) + VERSION + u16(len(body)) + body
            self.counts.append(Count("sent", content, len(record)))
            self.out += record
            if not self.gathers:
                self.flush()
            if not data:
                return

    def put_change_cipher_spec(self, protection: Protection):
        self.put(CHANGE_CIPHER_SPEC, b"\x01")
        self.sealing = protection

    def flush(self):
        out, self.out = self.out, b""
        if out:
            self.socket.sendall(out)

    # --- Receiving

    def message(self) -> bytes:
        """The next handshake message with its header, out of however many records."""
        while len(self.messages) < 4 or len(self.messages) < self._length():
            content, data = self.record()
            if content != HANDSHAKE:
                raise Alert(UNEXPECTED_MESSAGE, f"a handshake message was due, and a record of type {content} came")
            if not data:
                raise Alert(DECODE_ERROR, "an empty handshake record")
            self.messages += data
        length = self._length()
        message, self.messages = self.messages[:length], self.messages[length:]
        return message

    def change_cipher_spec(self, protection: Protection):
        """The peer's: it must stand between messages."""
        if self.messages:
            raise Alert(UNEXPECTED_MESSAGE, "a message is torn by ChangeCipherSpec")
        content, data = self.record()
        if content != CHANGE_CIPHER_SPEC:
            raise Alert(UNEXPECTED_MESSAGE, "ChangeCipherSpec was due")
        if data != b"\x01":
            raise Alert(DECODE_ERROR, "ChangeCipherSpec is one byte, 1")
        self.opening = protection

    def record(self) -> tuple:
        header = self._exactly(HEADER)
        content, length = header[0], int.from_bytes(header[3:], "big")
        if header[1] != 3:
            raise Alert(PROTOCOL_VERSION, "this is no record of TLS")
        if length > (MOST_SEALED if self.opening else MOST_PLAIN):
            raise Alert(RECORD_OVERFLOW, "a record is too long")
        data = self._exactly(length)
        self.counts.append(Count("received", content, HEADER + length))
        if self.opening:
            data = self.opening.open(content, data)
        if content == ALERT:
            if len(data) != 2:
                raise Alert(DECODE_ERROR, "an alert is two bytes")
            raise PeerAlert(data[1])
        return content, data

    def _length(self) -> int:
        length = 4 + int.from_bytes(self.messages[1:4], "big")
        if length > LONGEST_MESSAGE:
            raise Alert(DECODE_ERROR, f"a message of {length} bytes")
        return length

    def _exactly(self, length: int) -> bytes:
        while len(self.received) < length:
            part = self.socket.recv(2**15)
            if not part:
                raise ConnectionError("the peer closed the connection")
            self.received += part
        taken = bytes(self.received[:length])
        del self.received[:length]
        return taken

    # --- The end

    def send_alert(self, number: int):
        """The last thing on a connection that failed; a peer that is gone needs none."""
        try:
            self.put(ALERT, bytes([2 if number else 1, number]))
            self.flush()
        except OSError:
            pass

    def close(self):
        self.send_alert(CLOSE_NOTIFY)
