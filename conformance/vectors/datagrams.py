"""A flight over DTLS 1.3, and the answer that counts its records (docs/0rtt-fs.md, section 16)."""

from flight import EARLY_DATA, KEY_LENGTHS, Flight
from primitives import aes, aes_gcm_open, xor
from reading import Reader, Values, expect, vector

EARLY_RECORDS = 0xFF5E
HANDSHAKE, APPLICATION_DATA = 22, 23
FINISHED = 20


class DatagramFlight(Flight):
    """The numbers in comments are sections of RFC 9147."""

    LABELS = b"dtls13"  # 5.9
    HAS_COOKIE = True  # 5.3

    @classmethod
    def check(cls, values: Values):
        flight = cls(values)
        flight.offer()
        flight.early_records()
        flight.answer()
        flight.answering_datagram()

    def early(self) -> bytes:
        names = [name for name in self.v if name.startswith("early data ")]
        return b"".join(self.v[name] for name in names)

    def client_hello(self):
        super().client_hello()
        expect("early_records", self.extensions[EARLY_RECORDS], b"")

    def early_records(self):
        """The ClientHello, and one early record in each datagram."""
        secret = self.early_traffic_secret()
        for number in range(self.datagrams()):
            datagram = Reader(self.v[f"datagram {number}"])
            if number == 0:
                hello = messages(plaintext(datagram, 0), 0)
                expect("ClientHello", self.v["ClientHello"], b"".join(hello))
            content = self.opened(datagram, secret, epoch=1, sequence=number)
            computed = self.v[f"early data {number}"] + bytes([APPLICATION_DATA])
            expect(f"early data {number}", content, computed)
            datagram.end()

    def datagrams(self) -> int:
        return len([name for name in self.v if name.startswith("datagram ")])

    def accepted(self) -> dict:
        """What has come before the answer counts, up to the first gap."""
        arrived, taken = {*self.v["arrival"]}, 0
        while taken in arrived:
            taken += 1
        assert arrived < {*range(self.datagrams())}, "arrival"
        assert taken < len(arrived), "the vectors have no gap"
        return {EARLY_DATA: b"", EARLY_RECORDS: taken.to_bytes(4, "big")}

    def answering_datagram(self):
        """The whole flight of the server: ServerHello, and what Finished covers."""
        datagram = Reader(self.v["answer"])
        hello = messages(plaintext(datagram, 0), 0)
        expect("ServerHello", self.v["ServerHello"], b"".join(hello))
        secret, content, sequence = self.v["server handshake traffic secret"], b"", 0
        while datagram.data:
            inner = self.opened(datagram, secret, epoch=2, sequence=sequence)
            assert inner[-1] == HANDSHAKE
            content, sequence = content + inner[:-1], sequence + 1
        extensions, finished = messages(content, 1)
        expect("EncryptedExtensions", self.v["EncryptedExtensions"], extensions)
        covered = self.v["ClientHello"] + self.v["ServerHello"] + extensions
        key = self.expand_label(secret, "finished", b"", self.length)
        verify_data = self.hmac(key, self.digest(covered))
        expect("Finished", finished, bytes([FINISHED]) + vector(3, verify_data))

    def opened(self, datagram: Reader, secret: bytes, epoch: int, sequence: int) -> bytes:
        """The next record: its content and type. It must have this number."""
        key, number_key = (
            self.expand_label(secret, label, b"", KEY_LENGTHS[self.suite]) for label in ("key", "sn")
        )
        iv = self.expand_label(secret, "iv", b"", 12)
        first = datagram.take(1)  # 4: 001CSLEE, here without a connection ID
        assert first[0] == 0b00101100 | epoch, f"a record of epoch {epoch}: {first.hex()}"
        encrypted, length = datagram.take(2), datagram.take(2)
        sealed = datagram.take(int.from_bytes(length, "big"))
        in_clear = xor(encrypted, aes(number_key, sealed[:16]))  # 4.2.3
        expect("sequence number", in_clear, sequence.to_bytes(2, "big"))
        nonce = xor(iv, sequence.to_bytes(12, "big"))
        return aes_gcm_open(key, nonce, first + in_clear + length, sealed).rstrip(b"\0")


def plaintext(datagram: Reader, sequence: int) -> bytes:  # 4
    header = bytes([HANDSHAKE]) + b"\xfe\xfd" + bytes(2) + sequence.to_bytes(6, "big")
    expect("header", datagram.take(len(header)), header)
    return datagram.vector(2)


def messages(content: bytes, sequence: int) -> list:
    """Messages as transcripts have them: without their number, and whole (5.2)."""
    reader, found = Reader(content), []
    while reader.data:
        kind, length = reader.take(1), reader.take(3)
        expect("message_seq", reader.take(2), sequence.to_bytes(2, "big"))
        expect("fragment_offset", reader.take(3), bytes(3))
        expect("fragment_length", reader.take(3), length)
        found.append(kind + length + reader.take(int.from_bytes(length, "big")))
        sequence += 1
    return found
