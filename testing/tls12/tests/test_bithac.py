"""BiTHaC's extension and tickets: what is refused, with its alert."""

import hashlib
import hmac
import unittest

from tls12 import alerts, bithac
from tls12.alerts import Alert

TICKET = bytes(range(8))


class Refusals(unittest.TestCase):
    def refuses(self, alert, read, *arguments):
        with self.assertRaises(Alert) as caught:
            read(*arguments)
        self.assertEqual(alerts.name(caught.exception.number), alerts.name(alert))

    def test_offers(self):
        self.assertEqual(bithac.read_offer(b""), [])
        self.assertEqual(bithac.read_offer(bithac.offer([TICKET])), [(1, TICKET)])
        entry = b"\x01\x08" + TICKET
        for what, alert, data in (
            ("an empty list", alerts.DECODE_ERROR, b"\0\0"),
            ("a ticket of 7 bytes", alerts.DECODE_ERROR, b"\0\x09\x01\x07" + TICKET[1:]),
            ("a ticket of 9 bytes", alerts.DECODE_ERROR, b"\0\x0b\x01\x09" + TICKET + b"\0"),
            ("a list that is cut off", alerts.DECODE_ERROR, b"\0\x0a" + entry[:-1]),
            ("bytes behind the list", alerts.DECODE_ERROR, b"\0\x0a" + entry + b"\0"),
            ("an odd byte in the list", alerts.DECODE_ERROR, b"\0\x0b" + entry + b"\0"),
            ("one ticket twice", alerts.ILLEGAL_PARAMETER, b"\0\x14" + entry + entry),
            ("a great many", alerts.DECODE_ERROR, bithac.offer([bytes([i]) * 8 for i in range(17)])),
        ):
            with self.subTest(what):
                self.refuses(alert, bithac.read_offer, data)

    def test_selections(self):
        self.assertEqual(bithac.read_selection(bithac.selection(0), True, [TICKET], False), 0)
        self.assertIsNone(bithac.read_selection(bithac.selection(None), True, [TICKET], False))
        self.assertIsNone(bithac.read_selection(b"", True, [], False))
        one = bithac.selection(0)
        for what, alert, data, is_offered, sent, resumed in (
            ("unsolicited", alerts.UNSUPPORTED_EXTENSION, one, False, [], False),
            ("no ticket was sent", alerts.ILLEGAL_PARAMETER, one, True, [], False),
            ("a list that no ticket asked for", alerts.ILLEGAL_PARAMETER, b"\0\0", True, [], False),
            ("an index that was not sent", alerts.ILLEGAL_PARAMETER, bithac.selection(1), True, [TICKET], False),
            ("another type", alerts.ILLEGAL_PARAMETER, b"\0\x03\x02\0\0", True, [TICKET], False),
            ("no list", alerts.DECODE_ERROR, b"", True, [TICKET], False),
            ("two selections", alerts.DECODE_ERROR, b"\0\x06" + 2 * b"\x01\0\0", True, [TICKET], False),
            ("cut off", alerts.DECODE_ERROR, one[:-1], True, [TICKET], False),
            ("bytes behind the list", alerts.DECODE_ERROR, one + b"\0", True, [TICKET], False),
            ("in a resumed session", alerts.ILLEGAL_PARAMETER, one, True, [TICKET], True),
        ):
            with self.subTest(what):
                self.refuses(alert, bithac.read_selection, data, is_offered, sent, resumed)

    def test_abbreviated_certificates(self):
        value = bytes(32)
        self.assertIsNone(bithac.read_abbreviated(b"", False))
        self.assertEqual(bithac.read_abbreviated(b"\x20" + value, True), value)
        for what, body, is_bound in (
            ("the paper's form, not empty", b"\0", False),
            ("the bound form, empty", b"", True),
            ("a short fingerprint", b"\x1f" + value[1:], True),
            ("bytes behind it", b"\x20" + value + b"\0", True),
            ("no certificate, as in a whole message", b"\0\0\0", True),
            ("no certificate, as in a whole message, the paper's form", b"\0\0\0", False),
        ):
            with self.subTest(what):
                self.refuses(alerts.DECODE_ERROR, bithac.read_abbreviated, body, is_bound)


class Tickets(unittest.TestCase):
    def test_the_ticket_is_the_papers_prf(self):
        """PRF(MasterSecret, "ssc_ticket_label", type || hash), written out here once more."""
        secret, fingerprint = bytes(48), bytes(range(32))
        seed = b"ssc_ticket_label" + b"\x01" + fingerprint
        a = hmac.new(secret, seed, hashlib.sha384).digest()
        expected = hmac.new(secret, a + seed, hashlib.sha384).digest()
        self.assertEqual(bithac.tickets(secret, fingerprint, 2), [expected[:8], expected[8:16]])


if __name__ == "__main__":
    unittest.main()
