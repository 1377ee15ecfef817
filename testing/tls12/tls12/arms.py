"""What is compared. An arm defines what a hello offers and how the client's Certificate is abbreviated."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Arm:
    name: str
    # RFC 7924: certificate and certificate request, at the client.
    cached_info: bool = False
    # The paper's tickets: the client's certificate, at the server.
    tickets: bool = False
    # Hardened: RFC 7627 is required; the abbreviated client Certificate holds its fingerprint; each ticket is sent
    # once; a spare of the handshake before stands in for a ticket that only one end has.
    is_bound: bool = False
    # Session ids (RFC 5246, 7.4.1.2), which the server keeps.
    session_id: bool = False

    @property
    def tickets_each(self) -> int:
        """That a handshake leaves behind."""
        return 2 if self.is_bound else 1


VANILLA = Arm("vanilla")
RFC7924 = Arm("rfc7924", cached_info=True)
BITHAC = Arm("bithac", cached_info=True, tickets=True)
BITHAC_BOUND = Arm("bithac-bound", cached_info=True, tickets=True, is_bound=True)
SESSION_ID = Arm("session-id", session_id=True)

ARMS = (VANILLA, RFC7924, BITHAC, BITHAC_BOUND, SESSION_ID)
