"""RFC 7924: the appendix's vector, every refusal with its alert, and the oracle next to the reader."""

import json
import random
import subprocess
import sys
import unittest

from tls12 import alerts, cached_info, messages, oracle
from tls12.alerts import Alert
from tls12.cached_info import CERT, CERT_REQ, CachedObject

# RFC 7924, appendix A: the certificate, and the fingerprint of the Certificate message that carries it. The message's
# header as printed there has two bytes too many, 00 02; with them the digest would be another.
APPENDIX_CERTIFICATE = bytes.fromhex(
    "3082022c308201b2a00302010202010d300a06082a8648ce3d040302303e310b3009060355040613024e4c3111300f060355040a1308506f"
    "6c617253534c311c301a06035504031313506f6c617273736c2054657374204543204341301e170d3133303932343135353230345a170d32"
    "33303932323135353230345a3041310b3009060355040613024e4c3111300f060355040a1308506f6c617253534c311f301d060355040313"
    "16506f6c617253534c205465737420436c69656e7420323059301306072a8648ce3d020106082a8648ce3d0301070342000457e5aeb173df"
    "d3acbb93b881ff12aeeee653acce5553f6340ecc2ee363250bdf98e2f35c603696c0d5181470e57f9fd54b4518e5b06cd55cf8968f8770a3"
    "e4c7a3819d30819a30090603551d1304023000301d0603551d0e041604147a005f8664fce05de511103bb2e63bc4263fcfe2306e0603551d"
    "230467306580149d6d202449013f2bcb78b519bc7e24c9dbfb367ca142a440303e310b3009060355040613024e4c3111300f060355040a13"
    "08506f6c617253534c311c301a06035504031313506f6c617273736c2054657374204543204341820900c143e27e6243cce8300a06082a86"
    "48ce3d040302036800306502304a650d7b2083a299b9a80ffc8dee8f3dbb704c9603ac8e7870ddf20ea0b216cb658e1ac93f2c617ef83cef"
    "ad1cee36200231009df227a6d574b824aee16a3f31a1ca542f08d08dee4f0c61df77787db4fdfc4249eee5b26ac2cd2677628e287c9e5745"
)
APPENDIX_FINGERPRINT = "086eefb4859adfe977defac494fff6b73033b4ce1f86b8f2a9fc0c6bf98605af"

HASH = bytes(range(32))
OFFERED = [CachedObject(CERT, HASH), CachedObject(CERT_REQ, HASH)]


class Vector(unittest.TestCase):
    def test_the_appendix(self):
        self.assertEqual(len(APPENDIX_CERTIFICATE), 560)
        message = messages.certificate([APPENDIX_CERTIFICATE])
        self.assertEqual(message[:10].hex(), "0b000236000233000230")
        self.assertEqual(cached_info.fingerprint(message).hex(), APPENDIX_FINGERPRINT)
        self.assertEqual(oracle.fingerprint_of_chain([APPENDIX_CERTIFICATE]).hex(), APPENDIX_FINGERPRINT)

    def test_what_the_message_becomes(self):
        message = cached_info.abbreviated(messages.certificate([APPENDIX_CERTIFICATE]))
        self.assertEqual(message.hex(), "0b00002120" + APPENDIX_FINGERPRINT)


class Refusals(unittest.TestCase):
    def refuses(self, alert, read, *arguments):
        with self.assertRaises(Alert) as caught:
            read(*arguments)
        self.assertEqual(alerts.name(caught.exception.number), alerts.name(alert))

    def test_an_offer_that_is_not_one(self):
        entry = bytes([CERT, 32]) + HASH
        for what, data in {
            "nothing at all": b"",
            "an empty list": b"\0\0",
            "a hash of no bytes": b"\0\x02\x01\0",
            "a hash of no bytes, unknown type": b"\0\x02\x63\0",
            "a hash of 31 bytes": b"\0\x21" + bytes([CERT, 31]) + HASH[1:],
            "a hash of 33 bytes": b"\0\x23" + bytes([CERT_REQ, 33]) + HASH + b"\0",
            "bytes behind the list": b"\0\x22" + entry + b"\0",
            "a list that is cut off": b"\0\x22" + entry[:-1],
            "an entry that is cut off": b"\0\x23" + entry + b"\x01",
        }.items():
            with self.subTest(what):
                self.refuses(alerts.DECODE_ERROR, cached_info.read_offer, data)

    def test_several_hashes_of_one_type_and_unknown_types_are_read(self):
        several = [CachedObject(CERT, HASH), CachedObject(CERT, HASH[::-1]), CachedObject(99, b"x")]
        self.assertEqual(cached_info.read_offer(cached_info.offer(several)), several)

    def test_a_selection_that_is_not_one(self):
        for what, alert, data, offered, resumed in (
            ("an empty body", alerts.DECODE_ERROR, b"", OFFERED, False),
            ("an empty list", alerts.DECODE_ERROR, b"\0\0", OFFERED, False),
            ("bytes behind the list", alerts.DECODE_ERROR, b"\0\x01\x01\0", OFFERED, False),
            ("a type not offered", alerts.ILLEGAL_PARAMETER, b"\0\x01\x02", OFFERED[:1], False),
            ("a type twice", alerts.ILLEGAL_PARAMETER, b"\0\x02\x01\x01", OFFERED, False),
            ("an unknown type", alerts.ILLEGAL_PARAMETER, b"\0\x01\xff", OFFERED, False),
            ("unsolicited", alerts.UNSUPPORTED_EXTENSION, b"\0\x01\x01", [], False),
            ("in a resumed session", alerts.ILLEGAL_PARAMETER, b"\0\x01\x01", OFFERED, True),
        ):
            with self.subTest(what):
                self.refuses(alert, cached_info.read_selection, data, offered, resumed)

    def test_an_abbreviated_message_that_is_not_one(self):
        whole = messages.certificate([b"certificate"])[4:]
        for what, alert, body in (
            ("empty", alerts.DECODE_ERROR, b""),
            ("the whole Certificate", alerts.DECODE_ERROR, whole),
            ("31 bytes", alerts.DECODE_ERROR, b"\x1f" + HASH[1:]),
            ("bytes behind it", alerts.DECODE_ERROR, b"\x20" + HASH + b"\0"),
            ("another fingerprint", alerts.ILLEGAL_PARAMETER, b"\x20" + HASH[::-1]),
        ):
            with self.subTest(what):
                self.refuses(alert, cached_info.read_abbreviated, body, CERT, OFFERED)

    def test_a_fingerprint_that_was_offered_for_another_type(self):
        self.refuses(alerts.ILLEGAL_PARAMETER, cached_info.read_abbreviated, b"\x20" + HASH, CERT, OFFERED[1:])


def outcome(read, *arguments):
    try:
        return read(*arguments)
    except Alert as alert:
        return alert.number
    except oracle.Refused as refused:
        return refused.alert


class Oracle(unittest.TestCase):
    """Both readers say the same of valid bytes, of bytes with a fault, and of noise."""

    def setUp(self):
        self.random = random.Random(7924)

    def damaged(self, data):
        data = bytearray(data)
        for _ in range(self.random.randrange(3)):
            what, at = self.random.randrange(3), self.random.randrange(len(data) + 1)
            if what == 0:
                data.insert(at, self.random.choice([0, 1, 2, 32, 33, 255]))
            elif at < len(data):
                if what == 1:
                    del data[at]
                else:
                    data[at] = self.random.choice([0, 1, 2, 31, 32, 34, data[at] ^ 1])
        return bytes(data)

    def test_offers(self):
        read = refused = 0
        for _ in range(3000):
            some = [
                CachedObject(kind, bytes(self.random.choice([32, 32, 32, 32, 1, 31]) if kind < 3 else 2))
                for kind in self.random.choices([CERT, CERT_REQ, 64, 255], k=self.random.randrange(1, 4))
            ]
            data = self.damaged(cached_info.offer(some))
            found = outcome(cached_info.read_offer, data)
            self.assertEqual(
                found if isinstance(found, int) else [tuple(o) for o in found], outcome(oracle.offer, data)
            )
            read, refused = read + (not isinstance(found, int)), refused + isinstance(found, int)
        self.assertGreater(min(read, refused), 300, "the noise is too loud, or too quiet, to say anything")

    def test_selections(self):
        for _ in range(2000):
            offered = self.random.choice([OFFERED, OFFERED[:1], OFFERED[1:], []])
            data = self.damaged(b"\0\x02\x01\x02" if self.random.random() < 0.5 else b"\0\x01\x01")
            resumed = self.random.random() < 0.2
            found = outcome(cached_info.read_selection, data, offered, resumed)
            found = sorted(found) if isinstance(found, set) else found
            self.assertEqual(found, outcome(oracle.selection, data, [one.kind for one in offered], resumed), data.hex())

    def test_messages(self):
        for _ in range(2000):
            body = self.damaged(b"\x20" + self.random.choice([HASH, HASH[::-1]]))
            found = outcome(cached_info.read_abbreviated, body, CERT, OFFERED)
            whole = messages.message(messages.CERTIFICATE, body)
            self.assertEqual(found, outcome(oracle.abbreviated, whole, [HASH]), body.hex())

    def test_the_program(self):
        for arguments, said in (
            (["offer", "00220120" + HASH.hex()], {"read": [{"type": 1, "fingerprint": HASH.hex()}]}),
            (["selection", "000101", "1", "2"], {"read": [1]}),
            (["selection", "000101"], {"alert": alerts.UNSUPPORTED_EXTENSION}),
            (["message", "0b00002120" + HASH.hex(), HASH[::-1].hex()], {"alert": alerts.ILLEGAL_PARAMETER}),
        ):
            program = [sys.executable, "-B", "-m", "tls12.oracle", *arguments]
            self.assertEqual(json.loads(subprocess.run(program, check=True, capture_output=True).stdout), said)


if __name__ == "__main__":
    unittest.main()
