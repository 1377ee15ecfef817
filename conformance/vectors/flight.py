"""A forward-secret ticket and the flight under it, from docs/0rtt-fs.md."""

import hashlib
import hmac

from ml_kem import ML_KEM_768
from primitives import BASE_POINT, aes_gcm_open, x25519
from reading import Reader, Values, expect, number, pairs, vector

HASHES = {0x1301: hashlib.sha256, 0x1302: hashlib.sha384}
KEY_LENGTHS = {0x1301: 16, 0x1302: 32}

X25519, X25519MLKEM768, ONE_TIME_PSK = 0x001D, 0x11EC, 0xFE5A
SUPPORTED_GROUPS, EARLY_DATA, PRE_SHARED_KEY, MODES, KEY_SHARE = 0x0A, 0x2A, 0x29, 0x2D, 0x33
FORWARD_SECRET_EARLY_DATA, FORWARD_SECRET_RECEIPTS = 0xFF5A, 0xFF5B

VERDICTS = {"unknown": 0, "burned": 1, "used": 2, "lost": 3}


class Flight:
    """The numbers in comments are sections of docs/0rtt-fs.md."""

    LABELS = b"tls13 "
    HAS_COOKIE = False

    def __init__(self, values: Values):
        self.v = values
        self.suite = number(values["suite"])
        self.hash = HASHES[self.suite]
        self.length = self.hash().digest_size

    @classmethod
    def check(cls, values: Values):
        flight = cls(values)
        flight.offer()
        flight.early_data()
        flight.answer()
        flight.lone_identity()

    def offer(self):
        self.agreement()
        self.ticket()
        self.fs_secret_and_handle()
        self.identity_and_psk()
        self.client_hello()

    def expect(self, name: str, computed: bytes):
        expect(name, self.v[name], computed)

    def agreement(self):  # 3.1
        kind, seed, encapsulated = number(self.v["kind"]), self.v["seed"], self.v["encapsulated"]
        if kind == X25519:
            public, agreed = x25519(seed, BASE_POINT), x25519(seed, encapsulated)
        elif kind == X25519MLKEM768:
            d, scalar = seed[:32], seed[64:]  # z between them serves ciphertexts that do not fit
            public = ML_KEM_768.keys(d)[0] + x25519(scalar, BASE_POINT)
            agreed = ML_KEM_768.decapsulate(d, encapsulated[:1088]) + x25519(scalar, encapsulated[1088:])
        else:
            assert seed == encapsulated == b"", "a one-time PSK has no key pair"
            public = agreed = b""
        self.expect("public", public)
        self.expect("agreed secret", agreed)

    def ticket(self):  # 3
        message = Reader(self.v["NewSessionTicket"]).message(4)
        lifetime, self.age_add = message.number(4), message.number(4)
        message.vector(1)
        self.sealed = message.vector(2)
        extensions = message.extensions()
        assert EARLY_DATA not in extensions, "replayable early data is allowed"
        self.forward_secret_ticket = extensions[FORWARD_SECRET_EARLY_DATA]
        ticket = Reader(self.forward_secret_ticket)
        expect("kind", ticket.take(2), self.v["kind"])
        expect("id", ticket.take(32), self.v["id"])
        expect("public", ticket.vector(2), self.v["public"])
        assert ticket.number(4) <= lifetime, "the key outlives the ticket"
        assert ticket.number(4) >= len(self.early()), "max_early_data_size"
        ticket.end()

    def fs_secret_and_handle(self):  # 4.1
        secret = self.derive(self.v["exporter secret"], "EXPORTER-tessera-0rttfs", b"")
        context = self.digest(self.forward_secret_ticket)
        exported = self.expand_label(secret, "exporter", context, self.length + 32)
        self.expect("FS secret", exported[: self.length])
        self.expect("handle", exported[self.length :])

    def identity_and_psk(self):  # 3, 4.3
        identity = b"\xff\x5afs\x01" + self.v["id"] + vector(2, self.v["encapsulated"])
        self.expect("identity", identity)
        self.psk = self.psk_for(identity)
        self.expect("psk'", self.psk)
        self.early_secret = self.extract(b"", self.psk)
        self.expect("binder key", self.derive(self.early_secret, "ext binder", b""))

    def psk_for(self, identity: bytes) -> bytes:
        secret = self.extract(self.v["FS secret"], self.v["agreed secret"])
        return self.expand_label(secret, "0rttfs", self.digest(identity), self.length)

    def client_hello(self):  # 6
        self.first = self.v["first ClientHello" if "first ClientHello" in self.v else "ClientHello"]
        self.hello(self.first, b"", True)
        self.before = b""
        if self.first is not self.v["ClientHello"]:
            hashed = self.digest(self.first)  # RFC 8446, 4.4.1
            self.before = b"\xfe\0\0" + vector(1, hashed) + self.v["HelloRetryRequest"]
            self.hello(self.v["ClientHello"], self.before, False)

    def hello(self, hello: bytes, before: bytes, early_data: bool):
        """Whether a ClientHello offers the pair, with both binders."""
        suites, extensions = read_client_hello(hello, self.HAS_COOKIE)
        assert suites[:2] == self.v["suite"], "the session's suite is not first"
        assert (EARLY_DATA in extensions) == early_data, "early_data"
        assert KEY_SHARE in extensions, "key_share"
        self.extensions = extensions
        kinds = Reader(extensions[FORWARD_SECRET_EARLY_DATA]).vector(2)
        assert self.v["kind"] in pairs(kinds), "the kind is not listed"
        groups = Reader(extensions[SUPPORTED_GROUPS]).vector(2)
        assert b"\xfe\x5a" not in pairs(groups), "a one-time PSK is not a group"
        self.modes = Reader(extensions[MODES]).vector(1)
        assert 1 in self.modes, "psk_dhe_ke"

        offered = Reader(extensions[PRE_SHARED_KEY])
        identities, binders = Reader(offered.vector(2)), offered.vector(2)
        offered.end()
        expect("first identity", identities.vector(2), self.v["identity"])
        assert identities.number(4) == 0, "the first identity's obfuscated_ticket_age"
        expect("second identity", identities.vector(2), self.sealed)
        assert identities.number(4) == self.age_add, "the ticket's age is zero in these hellos"
        identities.end()
        covered = before + hello[: -len(binders) - 2]
        computed = (
            self.binder(self.psk, "ext binder", covered),
            self.binder(self.v["resumption PSK"], "res binder", covered),
        )
        expect("binders", binders, b"".join(vector(1, binder) for binder in computed))

    def early(self) -> bytes:
        return self.v["early data"]

    def early_traffic_secret(self) -> bytes:
        secret = self.derive(self.early_secret, "c e traffic", self.first)
        self.expect("early traffic secret", secret)
        return secret

    def early_data(self):
        secret = self.early_traffic_secret()
        record = self.v["early data record"]
        key = self.expand_label(secret, "key", b"", KEY_LENGTHS[self.suite])
        nonce = self.expand_label(secret, "iv", b"", 12)  # of record 0
        content = aes_gcm_open(key, nonce, record[:5], record[5:]).rstrip(b"\0")
        expect("early data", content, self.v["early data"] + b"\x17")

    def answer(self):  # 7
        """Accepted under psk' with either continuation, or burned after a HelloRetryRequest."""
        hello = self.v["ServerHello"]
        selected, shared = read_server_hello(hello)
        exchanged = self.v["key exchange"]
        assert bool(exchanged) == shared, "the continuation"
        assert shared or 0 in self.modes, "psk_ke was not offered"
        extensions = Reader(self.v["EncryptedExtensions"]).message(8).extensions()
        if self.before:
            assert selected == 1 and EARLY_DATA not in extensions
            expect("verdict", extensions[FORWARD_SECRET_EARLY_DATA], bytes([VERDICTS["burned"]]))
            early = self.extract(b"", self.v["resumption PSK"])
        else:
            assert selected == 0, "the identity"
            assert extensions == self.accepted(), f"EncryptedExtensions has {extensions}"
            early = self.early_secret
        handshake = self.extract(self.derive(early, "derived", b""), exchanged or bytes(self.length))
        transcript = self.before + self.v["ClientHello"] + hello
        secret = self.derive(handshake, "s hs traffic", transcript)
        self.expect("server handshake traffic secret", secret)

    def accepted(self) -> dict:
        """The extensions that accept early data."""
        return {EARLY_DATA: b""}

    def lone_identity(self):  # 15.2
        covered = b"\xff\x5afs\x02" + self.v["id"]
        covered += vector(2, self.v["encapsulated"]) + vector(2, self.sealed)
        proof = self.binder(self.v["resumption PSK"], "fs proof", covered)
        self.expect("lone identity", covered + proof)
        self.expect("lone psk'", self.psk_for(covered + proof))

    # RFC 8446, 4.2.11.2 and 7.1

    def binder(self, psk: bytes, label: str, covered: bytes) -> bytes:
        key = self.derive(self.extract(b"", psk), label, b"")
        finished = self.expand_label(key, "finished", b"", self.length)
        return self.hmac(finished, self.digest(covered))

    def derive(self, secret: bytes, label: str, messages: bytes) -> bytes:
        return self.expand_label(secret, label, self.digest(messages), self.length)

    def expand_label(self, secret: bytes, label: str, context: bytes, length: int) -> bytes:
        info = length.to_bytes(2, "big") + vector(1, self.LABELS + label.encode()) + vector(1, context)
        block = out = b""
        while len(out) < length:
            block = self.hmac(secret, block + info + bytes([len(out) // self.length + 1]))
            out += block
        return out[:length]

    def extract(self, salt: bytes, input_keying_material: bytes) -> bytes:
        return self.hmac(salt or bytes(self.length), input_keying_material)

    def hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self.hash).digest()

    def digest(self, data: bytes) -> bytes:
        return self.hash(data).digest()


# --- The hellos (RFC 8446, 4.1)


def read_client_hello(message: bytes, has_cookie: bool) -> tuple:
    """The suites, and the extensions. DTLS has a legacy_cookie, which is empty."""
    hello = Reader(message).message(1)
    hello.take(34)
    hello.vector(1)
    if has_cookie:
        expect("legacy_cookie", hello.vector(1), b"")
    suites = hello.vector(2)
    hello.vector(1)
    extensions = hello.extensions()
    assert list(extensions)[-1] == PRE_SHARED_KEY, "pre_shared_key is not last"
    return suites, extensions


def read_server_hello(message: bytes) -> tuple:
    """The selected identity, and whether there is a key share."""
    hello = Reader(message).message(2)
    hello.take(34)
    hello.vector(1)
    hello.take(3)
    extensions = hello.extensions()
    return number(extensions[PRE_SHARED_KEY]), KEY_SHARE in extensions
