"""Two certificates over one key, and what the paper's form can't distinguish.

The server's entry for a ticket is exchanged for another certificate over the client's key, as by a collision of 64-bit
tickets, or by an attacker who can write the server's cache. No signature is forged: CertificateVerify is the
client's own.
"""

import unittest

from tests.ends import CLIENT_NAME, Pair
from tls12 import cached_info, messages, pki
from tls12.alerts import DECRYPT_ERROR, Alert
from tls12.arms import BITHAC, BITHAC_BOUND
from tls12.cache import KnownClient


class Misbinding(unittest.TestCase):
    def exchanged(self, arm):
        """The client uses its certificate as CLIENT_NAME; the server's entry is one for `valve-9` over that key."""
        pair = Pair(arm)
        pair.must_meet()
        mine = pair.client.identity
        other = pki.make_leaf(mine.issuer, mine.key, "valve-9.plant", pki.CLIENT)
        trust = pair.server.trust
        accepted = trust.judge(other.chain, None, pair.clock())
        fingerprint = cached_info.fingerprint(messages.certificate(other.chain))
        for ticket in pair.server.cache.clients:
            pair.server.cache.clients[ticket] = KnownClient(fingerprint, accepted, trust.digest)
        return pair

    def test_the_papers_form_takes_one_for_the_other(self):
        client, server = self.exchanged(BITHAC).must_meet()
        self.assertIn("client Certificate", client.cached)
        self.assertIn("valve-9.plant", server.peer, "the flaw that this form has is gone: say so in the documents")

    def test_the_bound_form_refuses(self):
        pair = self.exchanged(BITHAC_BOUND)
        client, server = pair.meet()
        self.assertIsInstance(server, Alert)
        self.assertEqual((client.number, server.number), (DECRYPT_ERROR,) * 2)
        self.assertRegex(str(server), "another certificate than its ticket")

    def test_the_refusal_reveals_no_more_than_a_wrong_signature(self):
        """It comes after the proof, so a thief of tickets can't try out whose they are."""
        pair = self.exchanged(BITHAC_BOUND)
        server_saw = []

        class Watching(pair.make_server):
            def read_proof(self):
                server_saw.append("CertificateVerify")
                super().read_proof()

        pair.make_server = Watching
        pair.meet()
        self.assertEqual(server_saw, ["CertificateVerify"])

    def test_without_an_exchange_both_forms_name_the_client(self):
        for arm in (BITHAC, BITHAC_BOUND):
            pair = Pair(arm)
            pair.must_meet()
            _, server = pair.must_meet()
            self.assertIn("client Certificate", server.cached)
            self.assertIn(CLIENT_NAME, server.peer)


if __name__ == "__main__":
    unittest.main()
