"""The PRF against a published vector; records and messages that are not what they should be."""

import socket
import unittest

from tls12 import alerts, messages
from tls12.alerts import Alert
from tls12.messages import ClientHello, ServerHello
from tls12.prf import prf
from tls12.record import APPLICATION_DATA, HANDSHAKE, Protection, Records


class Prf(unittest.TestCase):
    def test_sha384(self):
        """The vector for P_SHA384 that was posted to the IETF's list for TLS in 2010."""
        made = prf(
            bytes.fromhex("b80b733d6ceefcdc71566ea48e5567df"),
            b"test label",
            bytes.fromhex("cd665cf6a8447dd6ff8b27555edb7465"),
            148,
        )
        self.assertEqual(made[:32].hex(), "7b0c18e9ced410ed1804f2cfa34a336a1c14dffb4900bb5fd7942107e81c83cd")


def both(key=bytes(32), salt=bytes(4)):
    near, far = socket.socketpair()
    sender, receiver = Records(near), Records(far)
    sender.sealing, receiver.opening = Protection(key, salt), Protection(key, salt)
    return sender, receiver


class RecordLayer(unittest.TestCase):
    def setUp(self):
        self.sender, self.receiver = both()
        self.addCleanup(self.sender.socket.close)
        self.addCleanup(self.receiver.socket.close)

    def refuses(self, alert):
        with self.assertRaises(Alert) as caught:
            self.receiver.record()
        self.assertEqual(alerts.name(caught.exception.number), alerts.name(alert))

    def test_data_arrive_in_order(self):
        for data in (b"one", b"two", b"x" * 16384):
            self.sender.put(APPLICATION_DATA, data)
        self.sender.flush()
        read = [self.receiver.record()[1] for _ in range(3)]
        self.assertEqual(read, [b"one", b"two", b"x" * 16384])

    def test_a_changed_record_does_not_open(self):
        self.sender.put(APPLICATION_DATA, b"data")
        self.sender.out = self.sender.out[:-1] + bytes([self.sender.out[-1] ^ 1])
        self.sender.flush()
        self.refuses(alerts.BAD_RECORD_MAC)

    def test_a_record_does_not_open_twice(self):
        self.sender.put(APPLICATION_DATA, b"data")
        self.sender.out *= 2
        self.sender.flush()
        self.assertEqual(self.receiver.record()[1], b"data")
        self.refuses(alerts.BAD_RECORD_MAC)

    def test_what_is_no_record(self):
        self.sender.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        self.refuses(alerts.PROTOCOL_VERSION)

    def test_a_record_that_is_too_long(self):
        self.sender.socket.sendall(bytes([23, 3, 3]) + (2**14 + 2049).to_bytes(2, "big"))
        self.refuses(alerts.RECORD_OVERFLOW)

    def test_a_protected_record_that_is_too_short(self):
        self.sender.socket.sendall(bytes([23, 3, 3, 0, 23]) + bytes(23))
        self.refuses(alerts.DECODE_ERROR)

    def test_a_message_in_many_records(self):
        self.sender.sealing = self.receiver.opening = None
        for byte in messages.message(messages.FINISHED, b"torn"):
            self.sender.put(HANDSHAKE, bytes([byte]))
        self.sender.flush()
        self.assertEqual(self.receiver.message(), b"\x14\0\0\x04torn")

    def test_a_message_that_is_torn_by_change_cipher_spec(self):
        self.sender.sealing = self.receiver.opening = None
        self.sender.put(HANDSHAKE, messages.message(messages.FINISHED, b"") + b"\x14")
        self.sender.put_change_cipher_spec(None)
        self.sender.flush()
        self.receiver.message()
        with self.assertRaises(Alert) as caught:
            self.receiver.change_cipher_spec(None)
        self.assertEqual(caught.exception.number, alerts.UNEXPECTED_MESSAGE)

    def test_a_message_without_end(self):
        self.sender.sealing = self.receiver.opening = None
        self.sender.put(HANDSHAKE, b"\x0b\xff\xff\xff")
        self.sender.flush()
        with self.assertRaises(Alert) as caught:
            self.receiver.message()
        self.assertEqual(caught.exception.number, alerts.DECODE_ERROR)


class Messages(unittest.TestCase):
    def test_hellos_are_read_as_written(self):
        hello = ClientHello(bytes(32), [1, 2], b"id", {25: b"x", 13: b""})
        self.assertEqual(ClientHello.decode(hello.encode()[4:]), hello)
        hello = ServerHello(bytes(32), 1, b"", {})
        self.assertEqual(ServerHello.decode(hello.encode()[4:]), hello)

    def test_no_message_is_read_when_it_is_cut_or_longer(self):
        hello = ClientHello(bytes(32), [1], b"", {25: b"x"}).encode()[4:]
        readers = (
            (ClientHello.decode, hello),
            (messages.read_certificate, messages.certificate([b"one", b"two"])[4:]),
            (messages.read_certificate_request, messages.certificate_request([1], [2, 3])[4:]),
            (
                messages.read_server_key_exchange,
                messages.server_key_exchange(messages.ecdh_parameters(b"p"), 1, b"s")[4:],
            ),
            (messages.read_client_key_exchange, messages.client_key_exchange(b"p")[4:]),
            (messages.read_certificate_verify, messages.certificate_verify(1, b"s")[4:]),
        )
        for read, body in readers:
            read(body)
            # Without its last bytes a hello has no extensions at all, which is allowed.
            lengths = [length for length in range(len(body)) if (read, length) != (ClientHello.decode, 41)]
            for broken in [body + b"\0", *(body[:length] for length in lengths)]:
                with self.subTest(read.__name__, length=len(broken)), self.assertRaises(Alert) as caught:
                    read(broken)
                self.assertEqual(caught.exception.number, alerts.DECODE_ERROR)

    def test_an_extension_twice(self):
        hello = ClientHello(bytes(32), [1], b"", {25: b""}).encode()[4:]
        twice = hello[:-6] + b"\0\x08" + 2 * b"\0\x19\0\0"
        with self.assertRaises(Alert) as caught:
            ClientHello.decode(twice)
        self.assertEqual(caught.exception.number, alerts.DECODE_ERROR)


if __name__ == "__main__":
    unittest.main()
