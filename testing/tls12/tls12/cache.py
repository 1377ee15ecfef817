"""What both ends keep between connections. All of it is bounded, and the least recently used leaves.

An entry that a handshake has selected is held by that handshake: that it leaves the cache meanwhile does no harm.
"""

import threading
from collections import OrderedDict, namedtuple

from .cached_info import CachedObject

# `accepted` for a certificate; `body` for a certificate request.
KnownObject = namedtuple("KnownObject", "accepted body")
# Tickets of one handshake that were not sent yet: the first is the current one, the second its spare.
Kept = namedtuple("Kept", "fingerprint tickets")
KnownClient = namedtuple("KnownClient", "fingerprint accepted trust")
Session = namedtuple("Session", "id suite master_secret extended peer scope")

MOST_OBJECTS = 64
LARGEST_OBJECT = 2**14
MOST_CLIENTS_TICKETS = 1024
MOST_SESSIONS = 1024
# Handshakes whose tickets are alive, for one identity at a server and for one server at a client.
HANDSHAKES = 2


class Bounded(OrderedDict):
    """The least recently used leaves."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def put(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.most:
            self.popitem(last=False)

    def look(self, key):
        if key in self:
            self.move_to_end(key)
        return self.get(key)


class ClientCache:
    """By peer: what RFC 7924 caches, tickets, sessions. `peer` names host and trust: another trust is a miss."""

    def __init__(self, most_objects: int = MOST_OBJECTS):
        self.objects = Bounded(most_objects)
        self.kept = Bounded(most_objects)
        self.sessions = Bounded(most_objects)

    def learn(self, peer, one: CachedObject, known: KnownObject):
        """The newest of its type replaces what was known of this peer."""
        if known.body is not None and len(known.body) > LARGEST_OBJECT:
            return
        for key in [key for key in self.objects if key[0] == peer and key[1].kind == one.kind and key[1] != one]:
            del self.objects[key]
        self.objects.put((peer, one), known)

    def objects_of(self, peer) -> dict:
        return {key[1]: known for key, known in self.objects.items() if key[0] == peer}

    def forget(self, peer, one: CachedObject):
        self.objects.pop((peer, one), None)

    def keep_tickets(self, peer, fingerprint: bytes, tickets: list):
        newest = [Kept(fingerprint, tickets), *self.kept.get(peer, [])]
        self.kept.put(peer, newest[:HANDSHAKES])

    def take_tickets(self, peer, fingerprint: bytes) -> tuple:
        """For one hello: the current ticket of the newest handshake, and the spare of another. Each leaves once.

        The spare of the same handshake is taken only when its current ticket has been sent before: so a handshake
        whose end is lost costs no full one, the first repetition included.
        """
        current = spare = None
        for age, kept in enumerate(self.kept.get(peer, [])):
            if kept.fingerprint != fingerprint:
                continue
            if age == 0 and len(kept.tickets) == 2:
                current = kept.tickets.pop(0)
            elif spare is None and kept.tickets:
                spare = kept.tickets.pop()
        return current, spare

    def newest_ticket(self, peer, fingerprint: bytes):
        """The paper's: it is sent until a handshake succeeds."""
        for kept in self.kept.get(peer, []):
            return kept.tickets[0] if kept.fingerprint == fingerprint else None
        return None


class ServerCache:
    """Ticket -> client, and sessions. One lock: connections are threads."""

    def __init__(self, most_tickets: int = MOST_CLIENTS_TICKETS, most_sessions: int = MOST_SESSIONS):
        self.clients = Bounded(most_tickets)
        self.sessions = Bounded(most_sessions)
        self.lock = threading.Lock()

    def learn(self, tickets: list, client: KnownClient, most_of_one: int):
        """One identity has at most so many live tickets; its own oldest give way."""
        with self.lock:
            for ticket in tickets:
                self.clients.put(ticket, client)
            own = [key for key, known in self.clients.items() if known.fingerprint == client.fingerprint]
            for ticket in own[: max(0, len(own) - most_of_one)]:
                del self.clients[ticket]

    def look(self, ticket: bytes):
        with self.lock:
            return self.clients.look(ticket)

    def take(self, ticket: bytes):
        with self.lock:
            return self.clients.pop(ticket, None)

    def forget(self, fingerprint: bytes):
        """All tickets of a certificate that is not valid any more."""
        with self.lock:
            for ticket in [key for key, known in self.clients.items() if known.fingerprint == fingerprint]:
                del self.clients[ticket]

    def put_session(self, session: Session):
        with self.lock:
            self.sessions.put(session.id, session)

    def session(self, session_id: bytes):
        with self.lock:
            return self.sessions.look(session_id)
