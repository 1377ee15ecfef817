"""The vectors of docs/cached-handshakes.md for TLS 1.2 with SHA-384, which `conformance/` computes too."""

import unittest
from pathlib import Path

from tls12 import alerts, bithac, cached_info, messages
from tls12.alerts import Alert
from tls12.cached_info import CERT, CERT_REQ, CachedObject
from tls12.wire import u16, vector

FILE = Path(__file__).parents[3] / "docs" / "cached-handshakes-vectors.txt"


def extension(kind, body):
    return u16(kind) + vector(2, body)


HASH, TICKET = bytes(32), bytes(8)
BOTH = [CachedObject(CERT, HASH), CachedObject(CERT_REQ, HASH)]
# What reads the values of the section "refused"; TLS 1.2 has the server's answer in its ServerHello.
READERS = {
    "ClientHello cached_info": cached_info.read_offer,
    "EncryptedExtensions cached_info": lambda data: cached_info.read_selection(data, BOTH, False),
    "ClientHello bithac": bithac.read_offer,
    "EncryptedExtensions bithac": lambda data: bithac.read_selection(data, True, [TICKET], False),
    "abbreviated Certificate": lambda data: cached_info.read_abbreviated(data, CERT, BOTH),
}


@unittest.skipUnless(FILE.exists(), f"there is no {FILE.name}")
class Vectors(unittest.TestCase):
    def section(self, wanted):
        values, section = {}, None
        for line in FILE.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif section == wanted and line and not line.startswith("#"):
                name, _, value = line.partition(" =")
                values[name] = bytes.fromhex(value)
        return values

    def test_what_is_refused(self):
        read = set()
        for name, value in self.section("refused").items():
            alert, where, _ = name.split(": ", 2)
            if where in READERS:
                read.add(where)
                with self.subTest(name), self.assertRaises(Alert) as caught:
                    READERS[where](value)
                self.assertEqual(alerts.name(caught.exception.number), alert, name)
        self.assertEqual(read, set(READERS))

    def test_the_paper_in_tls_1_2(self):
        values = self.section("paper, tls 1.2, sha384")
        server, request, client = (
            values[name] for name in ("server Certificate", "CertificateRequest", "client Certificate")
        )
        known = cached_info.fingerprint(server), cached_info.fingerprint(request)
        own = cached_info.fingerprint(client)
        current, spare = bithac.tickets(values["master secret"], own, 2)
        objects = [CachedObject(CERT, known[0]), CachedObject(CERT_REQ, known[1])]
        computed = {
            "suite": u16(messages.ECDHE_RSA),
            "H of the server": known[0],
            "fingerprint of the request": known[1],
            "ticket": current,
            "spare ticket": spare,
            "ClientHello, first contact": extension(messages.BITHAC, bithac.offer([])),
            "ClientHello, cached_info": extension(messages.CACHED_INFO, cached_info.offer(objects)),
            "ClientHello, bithac": extension(messages.BITHAC, bithac.offer([current])),
            "ServerHello, cached_info": extension(messages.CACHED_INFO, cached_info.selection([CERT, CERT_REQ])),
            "ServerHello, bithac": extension(messages.BITHAC, bithac.selection(0)),
            "abbreviated server Certificate": cached_info.abbreviated(server),
            "abbreviated CertificateRequest": cached_info.abbreviated(request),
            "abbreviated client Certificate": bithac.abbreviated(own, True),
            "unbound client Certificate, for measuring": bithac.abbreviated(own, False),
        }
        for name, value in computed.items():
            with self.subTest(name):
                self.assertEqual(value.hex(), values[name].hex())


if __name__ == "__main__":
    unittest.main()
