"""Connections of each arm: what is cached, what is not, and how ends that lost something come together again."""

import unittest

from tests.ends import CLIENT_NAME, SERVER_NAME, Pair, identity
from tls12 import pki
from tls12.alerts import CERTIFICATE_EXPIRED, Alert, PeerAlert
from tls12.arms import ARMS, BITHAC, BITHAC_BOUND, RFC7924, SESSION_ID, VANILLA, Arm
from tls12.cache import ClientCache
from tls12.cached_info import CERT_REQ
from tls12.server import Server

SERVERS = {"server Certificate", "CertificateRequest"}
ALL = SERVERS | {"client Certificate"}
WEEK = 7 * 86400
REPEATED = {VANILLA: set(), RFC7924: SERVERS, BITHAC: ALL, BITHAC_BOUND: ALL, SESSION_ID: set()}


class Connections(unittest.TestCase):
    def meets(self, pair, cached):
        for facts in pair.must_meet():
            self.assertEqual(facts.cached, cached)
            self.assertFalse(facts.resumed)

    def test_each_arm_repeats(self):
        for arm in ARMS:
            for kind in (pki.P256, pki.RSA_2048):
                with self.subTest(arm=arm.name, kind=kind):
                    pair = Pair(arm, kind)
                    self.meets(pair, set())
                    for _ in range(3):
                        client, server = pair.must_meet()
                        self.assertEqual((client.cached, server.cached), (REPEATED[arm], REPEATED[arm]))
                        self.assertEqual((client.resumed, server.resumed), (arm is SESSION_ID,) * 2)
                        self.assertIn(SERVER_NAME, client.peer)
                        self.assertIn(CLIENT_NAME, server.peer)

    def test_chains_are_checked_once(self):
        pair = Pair(BITHAC_BOUND)
        for _ in range(3):
            pair.must_meet()
        self.assertEqual((pair.client.trust.checked, pair.server.trust.checked), (2, 2))

    def test_ends_that_know_nothing_of_it(self):
        for arm in (RFC7924, BITHAC):
            pair = Pair(arm)
            pair.server.arm = VANILLA
            self.meets(pair, set())
            self.meets(pair, set())
            pair = Pair(arm)
            pair.client.arm = VANILLA
            self.meets(pair, set())
            self.meets(pair, set())

    def test_without_an_extended_master_secret(self):
        """Every arm runs but the bound one, which reports why not."""
        for arm in (VANILLA, BITHAC, SESSION_ID):
            pair = Pair(arm, extended=False)
            pair.must_meet()
            self.assertFalse(pair.must_meet()[0].extended)
        pair = Pair(BITHAC_BOUND)
        pair.client.extended = False
        self.assertRegex(str(pair.meet()[1]), "extended master secret, which the bound form needs")
        pair = Pair(BITHAC_BOUND)
        pair.server.arm, pair.server.extended = BITHAC, False
        self.assertRegex(str(pair.meet()[0]), "extended master secret, which the bound form needs")

    # --- Losses

    def test_a_server_that_restarts(self):
        """One full client Certificate; the server's own messages are cached at the client."""
        for arm in (BITHAC, BITHAC_BOUND):
            pair = Pair(arm)
            self.meets(pair, set())
            pair.forget_at_server()
            self.meets(pair, SERVERS)
            self.meets(pair, ALL)

    def test_a_client_that_restarts(self):
        for arm in (BITHAC, BITHAC_BOUND):
            pair = Pair(arm)
            self.meets(pair, set())
            pair.client.cache = ClientCache()
            self.meets(pair, set())
            self.meets(pair, ALL)

    def lose_the_end(self, pair):
        """The server finished, and its last flight never came."""

        class Mute(Server):
            def put_finished(self):
                super_flush, self.records.flush = self.records.flush, lambda: None
                super().put_finished()
                self.records.flush = super_flush
                self.records.out = b""

        pair.make_server = Mute
        client, _ = pair.meet(talk=False)
        self.assertIsInstance(client, ConnectionError)
        pair.make_server = Server

    def test_a_lost_end_costs_the_papers_form_one_certificate(self):
        pair = Pair(BITHAC)
        self.meets(pair, set())
        self.lose_the_end(pair)
        self.meets(pair, SERVERS)
        self.meets(pair, ALL)

    def test_a_lost_end_costs_the_bound_form_none(self):
        """In the first repetition, and in a later one."""
        pair = Pair(BITHAC_BOUND)
        self.meets(pair, set())
        self.lose_the_end(pair)
        self.meets(pair, ALL)
        self.meets(pair, ALL)
        self.lose_the_end(pair)
        self.meets(pair, ALL)

    def test_a_server_that_lost_the_newest_handshake(self):
        """The client has the tickets of handshake n, the server those of n-1."""
        pair = Pair(BITHAC_BOUND)
        self.meets(pair, set())
        self.meets(pair, ALL)
        with_spare = dict(pair.server.cache.clients)
        self.meets(pair, ALL)
        pair.server.cache.clients.clear()
        pair.server.cache.clients.update(list(with_spare.items())[1:])
        self.meets(pair, ALL)

    # --- Time

    def expiring(self, arm, which):
        pair = Pair(arm)
        config, name, purpose = {
            "server": (pair.server, SERVER_NAME, pki.SERVER),
            "client": (pair.client, CLIENT_NAME, pki.CLIENT),
        }[which]
        issuer = config.identity.issuer
        config.identity = pki.make_leaf(issuer, config.identity.key, name, purpose, days=7)
        self.meets(pair, set())
        return pair

    def test_what_is_out_of_date_is_not_offered_and_not_selected(self):
        for which, name, purpose, missing in (
            ("server", SERVER_NAME, pki.SERVER, {"server Certificate"}),
            ("client", CLIENT_NAME, pki.CLIENT, {"client Certificate"}),
        ):
            pair = self.expiring(BITHAC, which)
            self.meets(pair, ALL)
            pair.clock.ahead = WEEK + 1
            # It is sent whole, and refused as such.
            self.assertEqual({end.number for end in pair.meet()}, {CERTIFICATE_EXPIRED})
            client, server = pair.handshakes
            if which == "server":
                self.assertEqual([one.kind for one in client.offered], [CERT_REQ])
            else:
                self.assertEqual(len(client.tickets), 1)
                self.assertIsNone(server.known)
            config = getattr(pair, which)
            config.identity = pki.make_leaf(config.identity.issuer, config.identity.key, name, purpose)
            self.meets(pair, ALL - missing)
            self.meets(pair, ALL)

    def test_a_server_certificate_that_expires_between_offer_and_use(self):
        for arm in (RFC7924, BITHAC_BOUND):
            pair = self.expiring(arm, "server")

            class Slow(Server):
                def send_first_flight(self, hello):
                    pair.clock.ahead = WEEK + 1
                    return super().send_first_flight(hello)

            pair.make_server = Slow
            client, server = pair.meet()
            self.assertIsInstance(client, Alert)
            self.assertIsInstance(server, PeerAlert)
            self.assertEqual((client.number, server.number), (CERTIFICATE_EXPIRED,) * 2)
            kinds = {key[1].kind for key in pair.client.cache.objects}
            self.assertEqual(kinds, {CERT_REQ}, "the certificate is still known")

    def test_a_client_certificate_that_expires_between_selection_and_use(self):
        for arm in (BITHAC, BITHAC_BOUND):
            pair = self.expiring(arm, "client")

            class Slow(Server):
                def read_certificate(self):
                    pair.clock.ahead = WEEK + 1
                    super().read_certificate()

            pair.make_server = Slow
            client, server = pair.meet()
            self.assertIsInstance(server, Alert)
            self.assertEqual((client.number, server.number), (CERTIFICATE_EXPIRED,) * 2)
            self.assertEqual(len(pair.server.cache.clients), 0, "the certificate is still known")

    # --- What changes

    def test_a_new_certificate_over_the_same_key_is_sent_whole(self):
        pair = Pair(BITHAC_BOUND)
        self.meets(pair, set())
        issuer, key = pair.server.identity.issuer, pair.server.identity.key
        pair.server.identity = pki.make_leaf(issuer, key, SERVER_NAME, pki.SERVER)
        self.meets(pair, ALL - {"server Certificate"})
        issuer, key = pair.client.identity.issuer, pair.client.identity.key
        pair.client.identity = pki.make_leaf(issuer, key, CLIENT_NAME, pki.CLIENT)
        self.meets(pair, SERVERS)
        self.meets(pair, ALL)

    def test_another_trust_forgets(self):
        for arm in (RFC7924, BITHAC, BITHAC_BOUND):
            pair = Pair(arm)
            self.meets(pair, set())
            other = identity(pki.P256, "other")
            pair.client.trust = pki.Trust([*pair.client.trust.roots, other.root], pki.SERVER)
            self.meets(pair, set())
            pair.server.trust = pki.Trust([*pair.server.trust.roots, other.root], pki.CLIENT)
            self.meets(pair, REPEATED[arm] - {"client Certificate"})

    def test_another_name_is_offered_nothing(self):
        pair = Pair(BITHAC)
        self.meets(pair, set())
        known = dict(pair.client.cache.objects)
        pair.client.name = "other.plant"
        client, _ = pair.meet()
        self.assertRegex(str(client), "not other.plant's")
        self.assertEqual(dict(pair.client.cache.objects), known)

    def test_a_session_of_another_name_or_trust_or_time_is_not_resumed(self):
        def renamed(pair):
            session = next(iter(pair.client.cache.sessions.values()))
            issuer, key = pair.server.identity.issuer, pair.server.identity.key
            pair.server.identity = pki.make_leaf(issuer, key, "other.plant", pki.SERVER)
            pair.client.name = "other.plant"
            pair.client.cache.sessions.put(("other.plant", pair.client.trust.digest), session)

        def trusting(pair):
            pair.server.trust = pki.Trust([*pair.server.trust.roots, identity(pki.P256, "other").root], pki.CLIENT)

        def restarted(pair):
            pair.forget_at_server()

        for change in (renamed, trusting, restarted):
            with self.subTest(change.__name__):
                pair = Pair(SESSION_ID)
                pair.must_meet()
                change(pair)
                client, _ = pair.must_meet()
                self.assertFalse(client.resumed)
                self.assertIsNotNone(pair.handshakes[0].session, "it was not even offered")
                if change is not renamed:
                    self.assertTrue(pair.must_meet()[0].resumed)
        for which in ("client", "server"):
            pair = self.expiring(SESSION_ID, which)
            self.assertTrue(pair.must_meet()[0].resumed)
            pair.clock.ahead = WEEK + 1
            self.assertEqual({end.number for end in pair.meet()}, {CERTIFICATE_EXPIRED})

    def test_a_resumed_session_leaves_the_caches_alone(self):
        both = Arm("both", cached_info=True, tickets=True, session_id=True)
        pair = Pair(both)
        pair.must_meet()
        before = dict(pair.server.cache.clients), dict(pair.client.cache.objects), dict(pair.client.cache.kept)
        for facts in pair.must_meet():
            self.assertTrue(facts.resumed)
            self.assertEqual(facts.cached, set())
        after = dict(pair.server.cache.clients), dict(pair.client.cache.objects), dict(pair.client.cache.kept)
        self.assertEqual(after, before)
        pair.server.cache.sessions.clear()
        self.meets(pair, ALL)


if __name__ == "__main__":
    unittest.main()
