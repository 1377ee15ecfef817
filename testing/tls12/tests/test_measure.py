"""What measures: streams taken apart, captures, tables; and, as root, one cell over a link."""

import io
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from tests.ends import CLIENT_NAME, SERVER_NAME, identity
from tls12 import measure, messages, pki, record
from tls12.arms import BITHAC
from tls12.lab import cells, dissect, ends, report
from tls12.lab.capture import Segment, read_frame, streams
from tls12.lab.network import Network, Unavailable


def a_record(content, body):
    return bytes([content, 3, 3]) + len(body).to_bytes(2, "big") + body


class Dissect(unittest.TestCase):
    def test_every_byte_has_a_name(self):
        hello = messages.message(messages.CLIENT_HELLO, b"12345")
        two = messages.message(messages.CERTIFICATE, b"1") + messages.message(messages.CERTIFICATE_VERIFY, b"22")
        stream = (
            a_record(record.HANDSHAKE, hello)
            + a_record(record.HANDSHAKE, two)
            + a_record(record.CHANGE_CIPHER_SPEC, b"\x01")
            + a_record(record.HANDSHAKE, bytes(40))
            + a_record(record.APPLICATION_DATA, bytes(28))
            + a_record(record.ALERT, bytes(26))
        )
        found = dissect.messages(stream)
        self.assertEqual(
            found,
            [
                ("ClientHello", 14), ("Certificate", 10), ("CertificateVerify", 6), ("ChangeCipherSpec", 6),
                ("Finished", 45), ("application data", 33), ("alert", 31),
            ],
        )  # fmt: skip
        self.assertEqual(sum(size for _, size in found), len(stream))
        self.assertEqual(dissect.handshake_bytes(dissect.by_message(stream, b"")), len(stream) - 33 - 31)


def segment(from_client, sequence, data=b"", flags=0):
    return Segment(from_client, 40 + len(data), sequence, 0, flags, data)


class Streams(unittest.TestCase):
    def test_in_order_once_and_across_the_end_of_the_numbers(self):
        first = 2**32 - 3
        some = [
            segment(True, first, flags=2), segment(False, 9, flags=18),
            segment(True, 1, b"def"), segment(True, (first + 1) % 2**32, b"abc"), segment(True, 0, b"cdefg"),
            segment(False, 10, b"answer"),
        ]  # fmt: skip
        self.assertEqual(streams(some), (b"abcdefg", b"answer", 4))

    def test_a_gap(self):
        with self.assertRaisesRegex(RuntimeError, "missing"):
            streams([segment(True, 0, flags=2), segment(False, 0, flags=18), segment(True, 5, b"late")])

    def test_a_frame(self):
        ip = bytes.fromhex("4500002c000040004006000000000000") + bytes(4)
        ip = ip[:12] + bytes([10, 79, 0, 1, 10, 79, 0, 2])
        tcp = bytes([1, 2, 3, 4]) + bytes([0, 0, 0, 7, 0, 0, 0, 8, 0x50, 0x18]) + bytes(6)
        frame = bytes(12) + b"\x08\0" + ip + tcp + b"data" + b"padding of Ethernet"
        self.assertEqual(read_frame(frame), Segment(True, 44, 7, 8, 0x18, b"data"))
        self.assertIsNone(read_frame(bytes(12) + b"\x08\x06" + bytes(28)))


class Program(unittest.TestCase):
    def run_with(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch("sys.argv", ["measure", *arguments]), redirect_stdout(out), redirect_stderr(err):
            status = measure.main()
        return status, out.getvalue(), err.getvalue()

    def test_without_root_it_reports_that_and_fails(self):
        with mock.patch("os.geteuid", return_value=1000):
            status, _, said = self.run_with("--runs", "1")
        self.assertEqual(status, 2)
        self.assertIn("run it as root", said)

    def test_tables_of_an_earlier_result(self):
        run = cells.Run("full", 100, 90, 200, 3, 0, {"client Certificate": 30, "server Certificate": 15})
        less = cells.Run("cached", 40, 30, 100, 2, 0, {"client Certificate": 9})
        result = {
            "experiment": "tls12",
            "runs": 2, "link": "a link", "date": "a day", "revision": "r", "machine": {"cpu": "c", "cores": 1},
            "versions": {}, "absent": [],
            "cells": [
                report.cell("tls12", "vanilla", "rsa4096", 1500, run, [run, run], 0),
                report.cell("tls12", "bithac", "rsa4096", 1500, run, [less, less], 3),
            ],
        }  # fmt: skip
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(report.json_text(result))
            file.flush()
            status, said, _ = self.run_with("--show", file.name)
        self.assertEqual(status, 0)
        self.assertRegex(said, r"tls12 bithac +40 +30 +100 -50.0%")
        self.assertIn("Not counted: 3 connections", said)
        self.assertRegex(said, r"B6 .* 100 -> 40 B, -60.0 %")

    def test_what_is_no_result_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"experiment": "load"}')
            file.flush()
            unread = "can't be read"
            for name, why in [(file.name, "another experiment"), ("/nowhere", unread), (__file__, unread)]:
                status, said, told = self.run_with("--show", name)
                self.assertEqual((status, said), (2, ""))
                self.assertIn(why, told)


class OverALink(unittest.TestCase):
    def setUp(self):
        try:
            with Network(1500):
                pass
        except Unavailable as reason:
            self.skipTest(str(reason))
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        client = identity(pki.P256, CLIENT_NAME, pki.CLIENT)
        self.keys = ends.Keys(pki.P256, identity(pki.P256, SERVER_NAME), client, directory.name)

    def test_layers_fit_each_other(self):
        """An own end counts its records; the capture, checked against the kernel's counters, finds the same."""
        for mtu in (1500, 127):
            own = ends.Tessera(self.keys, BITHAC)
            with Network(mtu) as network:
                _, runs, _ = cells.measure(network, own, 1)
            self.assertEqual(runs[0].tls, own.counted)
            headers = 40 + 12  # IPv4, TCP, timestamps
            least = runs[0].tls + headers * runs[0].packets
            self.assertGreaterEqual(runs[0].ip_tcp, least)
            self.assertLess(runs[0].ip_tcp, least + 100, "options of a SYN at most")

    def test_other_stacks_are_counted_too(self):
        some = [ends.OpenSsl(self.keys, way) for way in measure.OPENSSL_WAYS]
        if ends.wolfssl_library():
            some += [ends.WolfSsl(self.keys, way) for way in measure.WOLFSSL_WAYS]
        with Network(576) as network:
            for one in some:
                first, runs, _ = cells.measure(network, one, 1)
                # Signatures by ECDSA differ by a few bytes.
                self.assertEqual(runs[0].tls < first.tls - 100, one.way != "full")
                self.assertIn("server ServerHello", runs[0].messages)

    def test_what_tcp_sends_twice_is_measured_again(self):
        own = ends.Tessera(self.keys, BITHAC)
        real, twice = cells.streams, [False, True, True, False]

        def stream(segments):
            client, server, _ = real(segments)
            return client, server, 7 * twice.pop(0)

        with Network(1500) as network, mock.patch.object(cells, "streams", stream):
            _, runs, discarded = cells.measure(network, own, 1)
        self.assertEqual((len(runs), discarded, twice), (1, 2, []))

    def test_a_row_is_full_again_when_the_server_forgets(self):
        """What is measured as repeated was repeated: else the measurement ends."""

        class Forgetful(ends.Tessera):
            def serve(self, sock):
                self.server.cache.clients.clear()
                super().serve(sock)

        with Network(1500) as network, self.assertRaisesRegex(RuntimeError, "a repeated handshake was"):
            cells.measure(network, Forgetful(self.keys, BITHAC), 1)


if __name__ == "__main__":
    unittest.main()
