"""The bytes of the paper: 42, 45 to 42, 9, 8, and 107 where it prints 111."""

import unittest

from tests.ends import Pair
from tls12 import pki
from tls12.arms import BITHAC, BITHAC_BOUND, RFC7924, VANILLA


def hellos(facts) -> int:
    return facts.size_of("ClientHello", "sent") + facts.size_of("ServerHello", "received")


class Bytes(unittest.TestCase):
    def sizes(self, arm, kind=pki.P256):
        """Facts of the first and of the second handshake, and of one without caching, at the client."""
        vanilla = Pair(VANILLA, kind).must_meet()[0]
        pair = Pair(arm, kind)
        return vanilla, pair.must_meet()[0], pair.must_meet()[0]

    def test_bithac_is_as_the_paper_says(self):
        for kind in (pki.P256, pki.RSA_2048):
            with self.subTest(kind):
                vanilla, first, second = self.sizes(BITHAC, kind)
                self.assertEqual(hellos(first) - hellos(vanilla), 8)
                self.assertEqual(vanilla.size_of("CertificateRequest", "received"), 45)
                self.assertEqual(second.size_of("Certificate", "received"), 42)
                self.assertEqual(second.size_of("CertificateRequest", "received"), 42)
                self.assertEqual(second.size_of("Certificate", "sent"), 9)
                self.assertEqual(hellos(second) - hellos(vanilla), 107)

    def test_where_the_107_bytes_are(self):
        vanilla, _, second = self.sizes(BITHAC)
        self.assertEqual(second.size_of("ClientHello", "sent") - vanilla.size_of("ClientHello", "sent"), 74 + 16)
        difference = second.size_of("ServerHello", "received") - vanilla.size_of("ServerHello", "received")
        self.assertEqual(difference, 8 + 9)

    def test_rfc_7924_sends_nothing_in_the_first_handshake(self):
        vanilla, first, second = self.sizes(RFC7924)
        self.assertEqual(hellos(first), hellos(vanilla))
        self.assertEqual(hellos(second) - hellos(vanilla), 74 + 8)
        self.assertEqual(second.size_of("Certificate", "received"), 42)
        self.assertEqual(second.size_of("Certificate", "sent"), vanilla.size_of("Certificate", "sent"))

    def test_what_the_bound_form_costs(self):
        """A fingerprint, and a second ticket in each ClientHello."""
        vanilla, first, second = self.sizes(BITHAC_BOUND)
        self.assertEqual(hellos(first) - hellos(vanilla), 8)
        self.assertEqual(second.size_of("Certificate", "sent"), 9 + 33)
        self.assertEqual(hellos(second) - hellos(vanilla), 107 + 10)


if __name__ == "__main__":
    unittest.main()
