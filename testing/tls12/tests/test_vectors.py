"""The vectors of docs/cached-handshakes.md for TLS 1.2 with SHA-384, which `conformance/` computes too."""

import unittest
from pathlib import Path

from tls12 import bithac, cached_info, messages
from tls12.cached_info import CERT, CERT_REQ, CachedObject
from tls12.wire import u16, vector

FILE = Path(__file__).parents[3] / "docs" / "cached-handshakes-vectors.txt"


def extension(kind, body):
    return u16(kind) + vector(2, body)


@unittest.skipUnless(FILE.exists(), f"there is no {FILE.name}")
class Vectors(unittest.TestCase):
    def test_the_paper_in_tls_1_2(self):
        values, section = {}, None
        for line in FILE.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif section == "paper, tls 1.2, sha384" and line and not line.startswith("#"):
                name, _, value = line.partition(" =")
                values[name] = bytes.fromhex(value)
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
