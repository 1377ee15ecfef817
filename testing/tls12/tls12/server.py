"""The server's handshake. Clients must have a certificate."""

import os

from . import bithac, cached_info, messages, signatures
from .alerts import DECRYPT_ERROR, HANDSHAKE_FAILURE, Alert
from .cache import HANDSHAKES, KnownClient, Session
from .cached_info import CERT, CERT_REQ, CachedObject
from .handshake import Handshake, new_share
from .messages import ClientHello, ServerHello
from .pki import is_in_time, judge_again
from .wire import Reader, list_u16

# The paper's form: each of one client's parallel connections leaves a ticket, and no more than this stay.
MOST_OF_ONE = 4


class Server(Handshake):
    own_label, peer_label = b"server finished", b"client finished"

    def __init__(self, socket, config):
        super().__init__(socket, config)
        key = config.identity.key.public_key()
        kind = signatures.client_certificate_type(key)
        self.suite = messages.ECDHE_RSA if kind == signatures.RSA_SIGN else messages.ECDHE_ECDSA
        self.certificate = messages.certificate(config.identity.chain)
        # As wolfSSL does it: clients have certificates of the server's kind.
        self.request = messages.certificate_request([kind], list(signatures.SCHEMES))
        self.selected = set()
        self.known = None
        self.known_ticket = None
        self.is_misbound = False

    def _run(self):
        hello = self.read_hello()
        session = self.session_of(hello)
        if session:
            self.resume(session, hello)
            return
        private = self.send_first_flight(hello)
        self.read_certificate()
        point = messages.read_client_key_exchange(self.receive(messages.CLIENT_KEY_EXCHANGE))
        self.agree(private, point, self.peer_random, self.own_random)
        self.read_proof()
        self.derive_keys(self.peer_random, self.own_random)
        self.read_finished()
        self.put_finished()
        self.learn()

    # --- The ClientHello

    def read_hello(self) -> ClientHello:
        hello = ClientHello.decode(self.receive(messages.CLIENT_HELLO))
        self.peer_random, self.own_random = hello.random, os.urandom(32)
        if self.suite not in hello.suites:
            raise Alert(HANDSHAKE_FAILURE, "the client offers no suite for this server's key")
        groups = Reader(hello.extensions.get(messages.SUPPORTED_GROUPS, b"\0\0"), "supported_groups")
        if messages.SECP256R1 not in list_u16(groups.vector(2), "supported_groups"):
            raise Alert(HANDSHAKE_FAILURE, "the client offers no P-256")
        if messages.SIGNATURE_ALGORITHMS not in hello.extensions:
            raise Alert(HANDSHAKE_FAILURE, "the client lists no signature schemes")
        self.schemes = messages.read_schemes(hello.extensions[messages.SIGNATURE_ALGORITHMS])
        self.facts.extended = self.config.extended and messages.EXTENDED_MASTER_SECRET in hello.extensions
        if self.arm.is_bound and not self.facts.extended:
            raise Alert(HANDSHAKE_FAILURE, "the client has no extended master secret, which the bound form needs")
        name = hello.extensions.get(messages.SERVER_NAME)
        self.name = messages.read_server_name(name) if name else None
        return hello

    def session_of(self, hello: ClientHello):
        """A session that may be resumed: same name, same trust, its client's certificate still valid."""
        session = self.cache.session(hello.session_id) if self.arm.session_id and hello.session_id else None
        if not session or session.suite != self.suite or session.scope != self.scope():
            return None
        if not is_in_time(session.peer, self.config.clock()):
            return None
        if session.extended and not self.facts.extended:
            raise Alert(HANDSHAKE_FAILURE, "a session is offered without its extended master secret (RFC 7627, 5.3)")
        return session if session.extended == self.facts.extended else None

    def scope(self) -> tuple:
        return self.name, self.config.trust.digest

    # --- The server's flight

    def send_first_flight(self, hello: ClientHello):
        answers = self.answers(hello)
        self.session_id = os.urandom(32) if self.arm.session_id else b""
        self.send(ServerHello(self.own_random, self.suite, self.session_id, answers).encode())
        self.send(cached_info.abbreviated(self.certificate) if CERT in self.selected else self.certificate)
        private, key_exchange = self.key_exchange()
        self.send(key_exchange)
        self.send(cached_info.abbreviated(self.request) if CERT_REQ in self.selected else self.request)
        self.send(messages.message(messages.SERVER_HELLO_DONE, b""))
        self.records.flush()
        return private

    def answers(self, hello: ClientHello) -> dict:
        values = self.common_answers(hello)
        if self.arm.cached_info and messages.CACHED_INFO in hello.extensions:
            offered = cached_info.read_offer(hello.extensions[messages.CACHED_INFO])
            own = ((CERT, self.certificate), (CERT_REQ, self.request))
            kinds = [kind for kind, whole in own if CachedObject(kind, cached_info.fingerprint(whole)) in offered]
            self.selected = set(kinds)
            if kinds:
                values[messages.CACHED_INFO] = cached_info.selection(kinds)
                self.facts.cached |= {
                    {CERT: "server Certificate", CERT_REQ: "CertificateRequest"}[kind] for kind in kinds
                }
        if self.arm.tickets and messages.BITHAC in hello.extensions:
            offered = bithac.read_offer(hello.extensions[messages.BITHAC])
            index = self.select(offered)
            values[messages.BITHAC] = bithac.selection(index) if offered else b""
        self.takes_tickets = messages.BITHAC in values
        return values

    def common_answers(self, hello: ClientHello) -> dict:
        values = {}
        if messages.RENEGOTIATION_INFO in hello.extensions or messages.RENEGOTIATION_SCSV in hello.suites:
            values[messages.RENEGOTIATION_INFO] = b"\0"
        if self.facts.extended:
            values[messages.EXTENDED_MASTER_SECRET] = b""
        return values

    def select(self, offered: list):
        """The place of the first ticket whose client may be used. The bound form takes every one that it finds."""
        find = self.cache.take if self.arm.is_bound else self.cache.look
        index = None
        for place, one in enumerate(offered):
            known = find(one.ticket) if one.kind == CERT else None
            if known and index is None and self.may_use(known):
                index, self.known, self.known_ticket = place, known, one.ticket
        return index

    def may_use(self, known: KnownClient) -> bool:
        return known.trust == self.config.trust.digest and is_in_time(known.accepted, self.config.clock())

    def key_exchange(self) -> tuple:
        private, point = new_share()
        parameters = messages.ecdh_parameters(point)
        key = self.config.identity.key
        scheme = signatures.choose(key.public_key(), self.schemes)
        signature = signatures.sign(key, scheme, self.peer_random + self.own_random + parameters)
        return private, messages.server_key_exchange(parameters, scheme, signature)

    # --- The client's flight

    def read_certificate(self):
        body, now = self.receive(messages.CERTIFICATE), self.config.clock()
        if self.known:
            self.facts.cached.add("client Certificate")
            told = bithac.read_abbreviated(body, self.arm.is_bound)
            # Sent only with the proof's verdict: a thief of tickets learns nothing about whose they are.
            self.is_misbound = told is not None and told != self.known.fingerprint
            self.fingerprint, self.accepted = self.known.fingerprint, self.known.accepted
            try:
                judge_again(self.accepted, None, now)
            except Alert:
                self.cache.forget(self.fingerprint)
                raise
        else:
            chain = messages.read_certificate(body)
            if not chain:
                raise Alert(HANDSHAKE_FAILURE, "the client has no certificate")
            self.accepted = self.config.trust.judge(chain, None, now)
            self.fingerprint = cached_info.fingerprint(messages.message(messages.CERTIFICATE, body))
        self.facts.peer = self.accepted.subject

    def read_proof(self):
        signed = self.transcript
        scheme, signature = messages.read_certificate_verify(self.receive(messages.CERTIFICATE_VERIFY))
        signatures.verify(self.accepted.public_key, scheme, signature, signed)
        if self.is_misbound:
            raise Alert(DECRYPT_ERROR, "the client means another certificate than its ticket")

    # --- Resumed, and the end

    def resume(self, session: Session, hello: ClientHello):
        self.facts.resumed, self.facts.peer = True, session.peer.subject
        self.master_secret = session.master_secret
        self.send(ServerHello(self.own_random, self.suite, session.id, self.common_answers(hello)).encode())
        self.derive_keys(self.peer_random, self.own_random)
        self.put_finished()
        self.read_finished()

    def learn(self):
        if self.takes_tickets:
            if self.known and not self.arm.is_bound:
                self.cache.take(self.known_ticket)
            client = KnownClient(self.fingerprint, self.accepted, self.config.trust.digest)
            each = self.arm.tickets_each
            most = HANDSHAKES * each if self.arm.is_bound else MOST_OF_ONE
            self.cache.learn(bithac.tickets(self.master_secret, self.fingerprint, each), client, most)
        if self.session_id:
            session = Session(
                self.session_id, self.suite, self.master_secret, self.facts.extended, self.accepted, self.scope()
            )
            self.cache.put_session(session)

    def _ordered(self, keys):
        return keys[1], keys[0]
