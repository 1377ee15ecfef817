"""Caches stay within their bounds, and a ticket leaves once."""

import unittest

from tls12.cache import Bounded, ClientCache, KnownClient, KnownObject, ServerCache
from tls12.cached_info import CERT, CERT_REQ, CachedObject

PEER = ("server.plant", b"trust")


def client(name: bytes) -> KnownClient:
    return KnownClient(name, None, b"trust")


class Bounds(unittest.TestCase):
    def test_the_least_recently_used_leaves(self):
        some = Bounded(2)
        some.put(1, "one")
        some.put(2, "two")
        some.look(1)
        some.put(3, "three")
        self.assertEqual(list(some), [1, 3])

    def test_one_client_has_so_many_tickets_and_takes_no_others(self):
        cache = ServerCache(most_tickets=100)
        cache.learn([b"quiet"], client(b"quiet"), 4)
        for i in range(1000):
            cache.learn([b"%d" % i], client(b"loud"), 4)
        self.assertEqual(list(cache.clients), [b"quiet", b"996", b"997", b"998", b"999"])

    def test_a_server_keeps_so_many_tickets(self):
        cache = ServerCache(most_tickets=10)
        for i in range(100):
            cache.learn([b"%d" % i], client(b"%d" % i), 4)
        self.assertEqual(list(cache.clients), [b"%d" % i for i in range(90, 100)])

    def test_a_client_keeps_the_newest_of_each_type(self):
        cache = ClientCache(most_objects=3)
        for i in range(5):
            cache.learn(PEER, CachedObject(CERT, b"%d" % i), KnownObject(None, b"x"))
        cache.learn(PEER, CachedObject(CERT_REQ, b"r"), KnownObject(None, b"x"))
        self.assertEqual(list(cache.objects_of(PEER)), [CachedObject(CERT, b"4"), CachedObject(CERT_REQ, b"r")])
        for i in range(5):
            cache.learn(("other", i), CachedObject(CERT, b"c"), KnownObject(None, b"x"))
        self.assertEqual(len(cache.objects), 3)

    def test_what_is_too_large_is_not_kept(self):
        cache = ClientCache()
        cache.learn(PEER, CachedObject(CERT_REQ, b"r"), KnownObject(None, bytes(2**14 + 1)))
        self.assertEqual(cache.objects_of(PEER), {})


class Tickets(unittest.TestCase):
    def setUp(self):
        self.cache = ClientCache()

    def keep(self, n):
        self.cache.keep_tickets(PEER, b"own", [b"current %d" % n, b"spare %d" % n])

    def take(self):
        return self.cache.take_tickets(PEER, b"own")

    def test_every_ticket_leaves_once(self):
        sent = []
        for n in range(4):
            self.keep(n)
            sent += [ticket for ticket in self.take() if ticket]
        sent += [ticket for _ in range(3) for ticket in self.take() if ticket]
        self.assertEqual(len(sent), len(set(sent)))
        self.assertEqual(len(sent), 8)

    def test_the_spare_stays_when_its_current_ticket_leaves(self):
        self.keep(0)
        self.assertEqual(self.take(), (b"current 0", None))
        self.assertEqual(self.take(), (None, b"spare 0"))
        self.assertEqual(self.take(), (None, None))

    def test_the_spare_is_of_the_handshake_before(self):
        self.keep(0)
        self.take()
        self.keep(1)
        self.assertEqual(self.take(), (b"current 1", b"spare 0"))

    def test_tickets_of_another_certificate_stay(self):
        self.keep(0)
        self.assertEqual(self.cache.take_tickets(PEER, b"another"), (None, None))
        self.assertEqual(self.cache.take_tickets(("other", b"trust"), b"own"), (None, None))
        self.assertEqual(self.take(), (b"current 0", None))


if __name__ == "__main__":
    unittest.main()
