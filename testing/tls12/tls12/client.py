"""The client's handshake: four flights, or three when the session is resumed."""

import os

from . import bithac, cached_info, messages, signatures
from .alerts import HANDSHAKE_FAILURE, ILLEGAL_PARAMETER, UNSUPPORTED_EXTENSION, Alert
from .cache import KnownObject, Session
from .cached_info import CERT, CERT_REQ, CachedObject
from .handshake import Handshake, new_share
from .messages import ClientHello, ServerHello
from .pki import is_in_time, judge_again
from .wire import Reader, u16, vector


class Client(Handshake):
    own_label, peer_label = b"client finished", b"server finished"

    def __init__(self, socket, config):
        super().__init__(socket, config)
        # Another trust or another name is another peer, about which nothing is known.
        self.peer = (config.name, config.trust.digest)
        self.own_fingerprint = cached_info.fingerprint(messages.certificate(config.identity.chain))
        self.offered = {}
        self.tickets = []
        self.session = None
        self.selected = set()
        self.takes_tickets = False
        self.selected_ticket = None
        # What this handshake showed, to be learned when it is complete.
        self.learned = {}

    def _run(self):
        self.send_hello()
        hello = self.read_hello()
        if self.facts.resumed:
            self.resume()
            return
        self.read_certificate()
        point = self.read_key_exchange()
        self.read_request()
        self.receive_nothing_in(messages.SERVER_HELLO_DONE)
        self.send_second_flight(point)
        self.read_finished()
        self.learn(hello)

    # --- Hellos

    def send_hello(self):
        self.own_random = os.urandom(32)
        self.hello = ClientHello(self.own_random, [*messages.SUITES, messages.RENEGOTIATION_SCSV])
        self.hello.extensions = self.extensions()
        if self.session:
            self.hello.session_id = self.session.id
        self.send(self.hello.encode())
        self.records.flush()

    def extensions(self) -> dict:
        schemes = b"".join(map(u16, signatures.SCHEMES))
        values = {messages.SERVER_NAME: messages.server_name(self.config.name)} if self.config.name else {}
        values[messages.SUPPORTED_GROUPS] = vector(2, u16(messages.SECP256R1))
        values[messages.EC_POINT_FORMATS] = vector(1, b"\0")
        values[messages.SIGNATURE_ALGORITHMS] = vector(2, schemes)
        if self.config.extended:
            values[messages.EXTENDED_MASTER_SECRET] = b""
        if self.arm.session_id:
            self.session = self.session_to_offer()
        if self.arm.cached_info:
            self.offered = self.objects_to_offer()
            if self.offered:
                values[messages.CACHED_INFO] = cached_info.offer(list(self.offered))
        if self.arm.tickets:
            self.tickets = self.tickets_to_offer()
            values[messages.BITHAC] = bithac.offer(self.tickets)
        return values

    def session_to_offer(self):
        session = self.cache.sessions.look(self.peer)
        if session and is_in_time(session.peer, self.config.clock()):
            return session
        return None

    def objects_to_offer(self) -> dict:
        """Of this peer alone, and no certificate that is out of date."""
        now, known = self.config.clock(), self.cache.objects_of(self.peer)
        return {one: value for one, value in known.items() if not value.accepted or is_in_time(value.accepted, now)}

    def tickets_to_offer(self) -> list:
        """Those of the chain that this client would send. The bound form always sends two: the list reveals nothing."""
        if not self.arm.is_bound:
            ticket = self.cache.newest_ticket(self.peer, self.own_fingerprint)
            return [ticket] if ticket else []
        found = self.cache.take_tickets(self.peer, self.own_fingerprint)
        if found == (None, None):
            return []
        return [ticket or os.urandom(bithac.TICKET_LENGTH) for ticket in found]

    def read_hello(self) -> ServerHello:
        hello = ServerHello.decode(self.receive(messages.SERVER_HELLO))
        self.peer_random = hello.random
        if hello.suite not in messages.SUITES:
            raise Alert(ILLEGAL_PARAMETER, f"the server chose suite {hello.suite:#06x}, which was not offered")
        offered = {*self.hello.extensions, messages.RENEGOTIATION_INFO, messages.CACHED_INFO, messages.BITHAC}
        if not set(hello.extensions) <= offered:
            raise Alert(UNSUPPORTED_EXTENSION, "the server answers an extension that was not offered")
        self.facts.extended = messages.EXTENDED_MASTER_SECRET in hello.extensions
        if self.arm.is_bound and not self.facts.extended:
            raise Alert(HANDSHAKE_FAILURE, "the server has no extended master secret, which the bound form needs")
        self.facts.resumed = bool(self.session) and hello.session_id == self.session.id
        self.read_answers(hello.extensions)
        return hello

    def read_answers(self, answers: dict):
        resumed = self.facts.resumed
        self.selected = cached_info.read_selection(answers.get(messages.CACHED_INFO), list(self.offered), resumed)
        answer = answers.get(messages.BITHAC)
        self.takes_tickets = answer is not None
        self.selected_ticket = bithac.read_selection(answer, self.arm.tickets, self.tickets, resumed)

    # --- The server's flight

    def read_certificate(self):
        body, now = self.receive(messages.CERTIFICATE), self.config.clock()
        if CERT not in self.selected:
            self.accepted = self.config.trust.judge(messages.read_certificate(body), self.config.name, now)
            whole = messages.message(messages.CERTIFICATE, body)
            one = CachedObject(CERT, cached_info.fingerprint(whole))
        else:
            self.facts.cached.add("server Certificate")
            one = CachedObject(CERT, cached_info.read_abbreviated(body, CERT, list(self.offered)))
            self.accepted = self.offered[one].accepted
            try:
                judge_again(self.accepted, self.config.name, now)
            except Alert:
                self.cache.forget(self.peer, one)
                raise
        self.facts.peer = self.accepted.subject
        self.learned[one] = KnownObject(self.accepted, None)

    def read_key_exchange(self) -> bytes:
        body = self.receive(messages.SERVER_KEY_EXCHANGE)
        parameters, point, scheme, signature = messages.read_server_key_exchange(body)
        signed = self.own_random + self.peer_random + parameters
        signatures.verify(self.accepted.public_key, scheme, signature, signed)
        return point

    def read_request(self):
        body = self.receive(messages.CERTIFICATE_REQUEST)
        if CERT_REQ in self.selected:
            self.facts.cached.add("CertificateRequest")
            one = CachedObject(CERT_REQ, cached_info.read_abbreviated(body, CERT_REQ, list(self.offered)))
            body = self.offered[one].body
        else:
            whole = messages.message(messages.CERTIFICATE_REQUEST, body)
            one = CachedObject(CERT_REQ, cached_info.fingerprint(whole))
        types, self.schemes = messages.read_certificate_request(body)
        if signatures.client_certificate_type(self.config.identity.key.public_key()) not in types:
            raise Alert(HANDSHAKE_FAILURE, "the server takes no certificate of this client's kind")
        self.learned[one] = KnownObject(None, body)

    def receive_nothing_in(self, kind: int):
        Reader(self.receive(kind), messages.NAMES[kind]).end()

    # --- The client's flight

    def send_second_flight(self, point: bytes):
        self.send(self.certificate())
        private, own_point = new_share()
        self.send(messages.client_key_exchange(own_point))
        self.agree(private, point, self.own_random, self.peer_random)
        self.send(self.certificate_verify())
        self.derive_keys(self.own_random, self.peer_random)
        self.put_finished()

    def certificate(self) -> bytes:
        if self.selected_ticket is None:
            return messages.certificate(self.config.identity.chain)
        self.facts.cached.add("client Certificate")
        return bithac.abbreviated(self.own_fingerprint, self.arm.is_bound)

    def certificate_verify(self) -> bytes:
        key = self.config.identity.key
        scheme = signatures.choose(key.public_key(), self.schemes)
        return messages.certificate_verify(scheme, signatures.sign(key, scheme, self.transcript))

    # --- Resumed, and the end

    def resume(self):
        session = self.session
        if session.extended != self.facts.extended:
            raise Alert(HANDSHAKE_FAILURE, "a session is resumed with another kind of master secret (RFC 7627, 5.3)")
        self.master_secret, self.facts.peer = session.master_secret, session.peer.subject
        self.derive_keys(self.own_random, self.peer_random)
        self.read_finished()
        self.put_finished()

    def learn(self, hello: ServerHello):
        """Only now: the handshake is complete, and the server's chain was accepted."""
        if self.arm.cached_info:
            for one, known in self.learned.items():
                self.cache.learn(self.peer, one, known)
        if self.takes_tickets:
            tickets = bithac.tickets(self.master_secret, self.own_fingerprint, self.arm.tickets_each)
            self.cache.keep_tickets(self.peer, self.own_fingerprint, tickets)
        if self.arm.session_id and hello.session_id:
            session = Session(
                hello.session_id, hello.suite, self.master_secret, self.facts.extended, self.accepted, self.peer
            )
            self.cache.sessions.put(self.peer, session)

    def _ordered(self, keys):
        return keys
