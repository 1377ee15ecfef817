"""KEM authentication: keys, secrets and both Finished of docs/kem-auth-vectors.txt, from docs/kem-auth.md.

The numbers in comments are its sections. `check` runs this. What is given, and not computed, are the messages but for
verify_data, and private keys.
"""

import hashlib
import hmac
from pathlib import Path

from cached_chains import expand_label, message, read_certificate
from flight import HASHES
from ml_kem import ML_KEM_768
from primitives import BASE_POINT, x25519
from reading import Reader, Values, expect, number, pairs, vector

VECTORS = Path(__file__).parents[2] / "docs" / "kem-auth-vectors.txt"

CLIENT_HELLO, SERVER_HELLO, CERTIFICATE_REQUEST, FINISHED, KEM_ENCAPSULATION = 1, 2, 13, 20, 30
NEW_SESSION_TICKET = 4
SIGNATURE_ALGORITHMS, SIGNATURE_ALGORITHMS_CERT, KEY_SHARE = 13, 50, 51
PRE_SHARED_KEY, EARLY_DATA = 41, 42
GROUP_X25519 = 0x001D
SCHEMES = {b"\xfe\x40", b"\xfe\x41", b"\xfe\x42", b"\xfe\x43", b"\xfe\x44"}  # 12


class X25519:
    SCHEME = b"\xfe\x40"
    INFO = bytes.fromhex("302a300506032b656e032100")  # RFC 8410: 1.3.101.110

    @staticmethod
    def public(private: bytes) -> bytes:
        return x25519(private, BASE_POINT)

    @staticmethod
    def decapsulate(private: bytes, encapsulation: bytes) -> bytes:
        assert len(encapsulation) == 32, "the length of the encapsulation"
        return x25519(private, encapsulation)


class MlKem768:
    SCHEME = b"\xfe\x42"
    INFO = bytes.fromhex("308204b2300b0609608648016503040402038204a100")  # RFC 9935: 2.16.840.1.101.3.4.4.2

    @staticmethod
    def public(private: bytes) -> bytes:
        assert len(private) == 64, "a seed is d || z"
        return ML_KEM_768.keys(private[:32])[0]

    @staticmethod
    def decapsulate(private: bytes, encapsulation: bytes) -> bytes:
        """z counts for encapsulations to another key alone."""
        assert len(encapsulation) == 1088, "the length of the encapsulation"
        return ML_KEM_768.decapsulate(private[:32], encapsulation)


KEMS = {kem.SCHEME: kem for kem in (X25519, MlKem768)}


class Handshake:
    """The whole transcript, message by message (4), and what follows from it (5)."""

    def __init__(self, values: Values):
        self.v = values
        self.hash = HASHES[number(values["suite"])]
        self.length = self.hash().digest_size
        self.transcript = b""

    @classmethod
    def begun(cls, values: Values):
        """Up to EncryptedExtensions; also returns what the client offers."""
        it = cls(values)
        it.hellos()
        schemes = it.offered(CLIENT_HELLO, "ClientHello")
        it.add("EncryptedExtensions")
        return it, schemes

    @classmethod
    def server_only(cls, values: Values):
        it, schemes = cls.begun(values)
        it.absorb(it.authenticate("server", "client", schemes))
        it.end(bytes(it.length))

    @classmethod
    def mutual(cls, values: Values):
        it, schemes = cls.begun(values)
        it.add("CertificateRequest")
        of_client = it.offered(CERTIFICATE_REQUEST, "CertificateRequest")
        it.absorb(it.authenticate("server", "client", schemes))
        it.end(it.authenticate("client", "server", of_client))

    @classmethod
    def known_server_key(cls, values: Values):  # 9
        it = cls(values)
        kem, private = KEMS[values["server scheme"]], values["server private key"]
        identity = Reader(values["identity"])
        named = b"tessera known key 1" + kem.SCHEME + kem.public(private)
        it.expect("id", hashlib.sha256(named).digest()[:16])
        expect("identity", identity.take(16), values["id"])
        shared = kem.decapsulate(private, identity.data)
        it.expect("SSs", shared)
        context = hashlib.sha256(values["identity"]).digest()
        psk = it.expand(it.extract(bytes(32), shared), "known key", context)
        it.expect("PSK", psk)
        assert kem.SCHEME in it.offered(CLIENT_HELLO, "ClientHello"), "no certificate is accepted"
        it.binder(psk)
        it.hellos(psk)
        it.add("EncryptedExtensions")
        secret = values["server handshake traffic secret"]
        verify_data = it.hmac(it.expand(secret, "finished", b""), it.digest())  # RFC 8446, 4.4.4
        expect("server Finished", values["server Finished"], message(FINISHED, verify_data))

    def binder(self, psk: bytes):
        """RFC 8446, 4.2.11: the identity is the only one."""
        hello = self.v["ClientHello"]
        extensions = self.extensions
        assert list(extensions)[-1] == PRE_SHARED_KEY, "pre_shared_key is not last"
        assert EARLY_DATA not in extensions, "early data under a known key"
        offered = Reader(extensions[PRE_SHARED_KEY])
        identities, binders = Reader(offered.vector(2)), offered.vector(2)
        offered.end()
        expect("identity", identities.vector(2), self.v["identity"])
        assert identities.number(4) == 0, "obfuscated_ticket_age"
        identities.end()
        key = self.expand(self.extract(bytes(32), psk), "ext binder", self.hash().digest())
        covered = self.hash(hello[: -len(binders) - 2]).digest()
        proof = self.hmac(self.expand(key, "finished", b""), covered)
        expect("binder", binders, vector(1, proof))

    def hellos(self, psk: bytes = b""):
        self.add("ClientHello")
        self.add("ServerHello")
        hello = Reader(self.v["ServerHello"]).message(SERVER_HELLO)
        hello.take(34)
        hello.vector(1)
        expect("suite", hello.take(2), self.v["suite"])
        hello.take(1)
        extensions = hello.extensions()
        assert (PRE_SHARED_KEY in extensions) == bool(psk), "pre_shared_key"
        share = Reader(extensions[KEY_SHARE])
        assert share.number(2) == GROUP_X25519, "the group"
        exchanged = x25519(self.v["client's ephemeral private key"], share.vector(2))
        self.expect("key exchange", exchanged)
        early = self.extract(bytes(self.length), psk or bytes(self.length))
        self.secret = self.extract(self.derived(early), exchanged)
        self.expect("handshake secret", self.secret)
        if not psk:
            self.traffic("client handshake traffic secret", "c hs traffic")
        self.traffic("server handshake traffic secret", "s hs traffic")

    def authenticate(self, prover: str, peer: str, schemes: set) -> bytes:
        """A Certificate and the KEMEncapsulation that answers it; returns the secret."""
        kem, private = KEMS[self.v[f"{prover} scheme"]], self.v[f"{prover} private key"]
        assert kem.SCHEME in schemes, "the scheme was not offered"
        (key,), _ = read_certificate(self.v[f"{prover} Certificate"])
        expect(f"{prover} key", key, kem.INFO + kem.public(private))
        self.add(f"{prover} Certificate")
        body = Reader(self.v[f"{peer} KEMEncapsulation"]).message(KEM_ENCAPSULATION)
        expect("certificate_request_context", body.vector(1), b"")
        encapsulation = body.vector(2)
        body.end()
        self.add(f"{peer} KEMEncapsulation")
        shared = kem.decapsulate(private, encapsulation)
        self.expect("SSs" if prover == "server" else "SSc", shared)
        return shared

    def absorb(self, shared: bytes):
        self.secret = self.extract(self.derived(self.secret), shared)
        self.expect("authenticated handshake secret", self.secret)
        self.traffic("client authenticated handshake traffic secret", "c ahs traffic")
        self.traffic("server authenticated handshake traffic secret", "s ahs traffic")

    def end(self, shared: bytes):
        self.secret = self.extract(self.derived(self.secret), shared)
        self.expect("master secret", self.secret)
        self.finished("client")
        self.traffic("client application traffic secret", "c ap traffic")
        self.finished("server")
        self.traffic("server application traffic secret", "s ap traffic")
        self.traffic("exporter master secret", "exp master")
        resumption = self.traffic("resumption master secret", "res master")
        ticket = Reader(self.v["NewSessionTicket"]).message(NEW_SESSION_TICKET)
        ticket.take(8)
        psk = self.expand(resumption, "resumption", ticket.vector(1))  # RFC 8446, 4.6.1
        self.expect("resumption PSK", psk)

    def finished(self, sender: str):
        key = self.expand(self.secret, f"{sender} finished", b"")
        self.expect(f"{sender} finished key", key)
        self.expect(f"hash before {sender} Finished", self.digest())
        verify_data = self.hmac(key, self.digest())
        expect(f"{sender} Finished", self.v[f"{sender} Finished"], message(FINISHED, verify_data))
        self.add(f"{sender} Finished")

    def offered(self, kind: int, name: str) -> set:
        """The schemes of signature_algorithms (3)."""
        body = Reader(self.v[name]).message(kind)
        if kind == CLIENT_HELLO:
            body.take(34)
            for length in (1, 2, 1):
                body.vector(length)
        else:
            expect("certificate_request_context", body.vector(1), b"")
        self.extensions = extensions = body.extensions()
        if SIGNATURE_ALGORITHMS_CERT in extensions:
            chains = pairs(Reader(extensions[SIGNATURE_ALGORITHMS_CERT]).vector(2))
            assert not SCHEMES & {*chains}, "a KEM signs no chain"
        return {*pairs(Reader(extensions[SIGNATURE_ALGORITHMS]).vector(2))}

    def add(self, name: str):
        self.transcript += self.v[name]

    def traffic(self, name: str, label: str) -> bytes:
        """Derive-Secret over the transcript as it is."""
        secret = self.expand(self.secret, label, self.digest())
        self.expect(name, secret)
        return secret

    def expect(self, name: str, computed: bytes):
        expect(name, self.v[name], computed)

    # RFC 8446, 7.1

    def derived(self, secret: bytes) -> bytes:
        return self.expand(secret, "derived", self.hash().digest())

    def expand(self, secret: bytes, label: str, context: bytes) -> bytes:
        return expand_label(self.hash, secret, label, context, self.length)

    def extract(self, salt: bytes, input_keying_material: bytes) -> bytes:
        return self.hmac(salt, input_keying_material)

    def hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.hash().name)

    def digest(self) -> bytes:
        return self.hash(self.transcript).digest()


SECTIONS = {
    "server-only, sha256": Handshake.server_only,
    "mutual, sha256": Handshake.mutual,
    "mutual, sha384": Handshake.mutual,
    "known server key, sha256": Handshake.known_server_key,
}
