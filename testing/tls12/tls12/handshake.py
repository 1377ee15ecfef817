"""What client and server share in a handshake: messages, transcript, keys, the end."""

import time
from dataclasses import dataclass, field
from typing import Optional

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from . import prf
from .alerts import CLOSE_NOTIFY, DECRYPT_ERROR, ILLEGAL_PARAMETER, UNEXPECTED_MESSAGE, Alert, PeerAlert
from .arms import VANILLA, Arm
from .messages import FINISHED, NAMES, message, open_message
from .pki import Identity, Trust
from .record import APPLICATION_DATA, HANDSHAKE, HEADER, Protection, Records


@dataclass
class Config:
    """An end. `cache` is a ClientCache or a ServerCache; `name` is the server's, at the client."""

    identity: Identity
    trust: Trust
    cache: object
    arm: Arm = VANILLA
    name: Optional[str] = None
    extended: bool = True  # RFC 7627
    clock: object = time.time
    gathers: bool = True  # a flight in one write, else a write for each record


@dataclass
class Facts:
    """What a handshake was."""

    resumed: bool = False
    extended: bool = False
    # Messages that came or went abbreviated, by name: "server Certificate", "CertificateRequest", "client Certificate".
    cached: set = field(default_factory=set)
    peer: Optional[str] = None
    # (sent or received, name, bytes with the record's header)
    messages: list = field(default_factory=list)

    def size_of(self, name: str, direction: str) -> int:
        return sum(size for way, message_name, size in self.messages if (way, message_name) == (direction, name))


class Handshake:
    """One run. Subclasses have `_run`, which ends with keys in both directions."""

    own_label = peer_label = b""

    def __init__(self, socket, config: Config):
        self.records = Records(socket, config.gathers)
        self.config, self.arm, self.cache = config, config.arm, config.cache
        self.facts = Facts()
        self.transcript = b""
        self.own_random = self.peer_random = b""
        self.master_secret = b""
        self.protections = None

    def run(self) -> "Connection":
        try:
            self._run()
        except Alert as alert:
            self.records.out = b""
            self.records.send_alert(alert.number)
            raise
        return Connection(self.records, self.facts)

    # --- Messages

    def send(self, data: bytes):
        self.transcript += data
        before = len(self.records.counts)
        self.records.put(HANDSHAKE, data)
        size = sum(one.size for one in self.records.counts[before:])
        self.facts.messages.append(("sent", NAMES[data[0]], size))

    def receive(self, *kinds: int) -> bytes:
        """The body of the next message."""
        data = self.records.message()
        body = open_message(data, *kinds)
        self.transcript += data
        sealed = 24 if self.records.opening else 0
        self.facts.messages.append(("received", NAMES[data[0]], HEADER + sealed + len(data)))
        return body

    def put_finished(self):
        """ChangeCipherSpec and Finished, and all that waits before them."""
        self.records.put_change_cipher_spec(self.protections[0])
        self.send(message(FINISHED, prf.verify_data(self.master_secret, self.own_label, self.transcript)))
        self.records.flush()

    def read_finished(self):
        self.records.change_cipher_spec(self.protections[1])
        due = prf.verify_data(self.master_secret, self.peer_label, self.transcript)
        if self.receive(FINISHED) != due:
            raise Alert(DECRYPT_ERROR, "the peer's Finished is wrong")

    # --- Keys

    def agree(self, private, point: bytes, client_random: bytes, server_random: bytes):
        """The transcript ends with ClientKeyExchange."""
        try:
            public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        except ValueError:
            raise Alert(ILLEGAL_PARAMETER, "a point that is not on P-256") from None
        premaster = private.exchange(ec.ECDH(), public)
        if self.facts.extended:
            self.master_secret = prf.extended_master_secret(premaster, self.transcript)
        else:
            self.master_secret = prf.master_secret(premaster, client_random, server_random)

    def derive_keys(self, client_random: bytes, server_random: bytes):
        keys = prf.key_block(self.master_secret, client_random, server_random)
        self.protections = [Protection(*key) for key in self._ordered(keys)]

    def _ordered(self, keys: tuple) -> tuple:
        """(client's, server's) as (own, peer's)."""
        raise NotImplementedError


def new_share() -> tuple:
    private = ec.generate_private_key(ec.SECP256R1())
    return private, private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class Connection:
    """Application data after the handshake."""

    def __init__(self, records: Records, facts: Facts):
        self.records, self.facts = records, facts

    def send(self, data: bytes):
        self.records.put(APPLICATION_DATA, data)
        self.records.flush()

    def receive(self) -> bytes:
        """One record's data; empty when the peer has closed."""
        try:
            content, data = self.records.record()
        except PeerAlert as alert:
            if alert.number == CLOSE_NOTIFY:
                return b""
            raise
        if content != APPLICATION_DATA or self.records.messages:
            raise Alert(UNEXPECTED_MESSAGE, "there is no renegotiation here")
        return data

    def close(self):
        self.records.close()

    def bytes_by(self, direction: str) -> int:
        return sum(one.size for one in self.records.counts if one.direction == direction)
