"""BiTHaC's extension, ticket and abbreviated client Certificate, re-derived from the paper (its section IV-B).

The paper's form ends in an empty Certificate, so nothing in the transcript names the certificate that the ticket stands
for. The bound form writes its fingerprint there; see `arms.py`.
"""

from collections import namedtuple

from .alerts import DECODE_ERROR, ILLEGAL_PARAMETER, UNSUPPORTED_EXTENSION, Alert
from .cached_info import CERT, FINGERPRINT_LENGTH
from .messages import CERTIFICATE, message
from .prf import prf
from .wire import Reader, u16, vector

TICKET_LENGTH = 8
LABEL = b"ssc_ticket_label"
MOST_TICKETS = 16

Offered = namedtuple("Offered", "kind ticket")


def tickets(master_secret: bytes, fingerprint: bytes, count: int) -> list:
    """The paper's ticket, then spares out of the same stream: ends of either form agree on the first."""
    stream = prf(master_secret, LABEL, bytes([CERT]) + fingerprint, TICKET_LENGTH * count)
    return [stream[i : i + TICKET_LENGTH] for i in range(0, len(stream), TICKET_LENGTH)]


# --- The ClientHello


def offer(values: list) -> bytes:
    """An empty body means: supported, and no ticket."""
    if not values:
        return b""
    return vector(2, b"".join(bytes([CERT]) + vector(1, ticket) for ticket in values))


def read_offer(data: bytes) -> list:
    if not data:
        return []
    reader = Reader(data, "the client's tickets")
    entries, offered = reader.inner(2), []
    reader.end()
    while entries:
        kind, ticket = entries.number(1), entries.vector(1)
        if len(ticket) != TICKET_LENGTH:
            raise Alert(DECODE_ERROR, f"a ticket of {len(ticket)} bytes")
        offered.append(Offered(kind, ticket))
    if not offered:
        raise Alert(DECODE_ERROR, "an empty list of tickets: an empty extension means that there are none")
    if len(offered) > MOST_TICKETS:
        raise Alert(DECODE_ERROR, f"{len(offered)} tickets")
    if len(set(offered)) < len(offered):
        raise Alert(ILLEGAL_PARAMETER, "a ticket stands twice in the list")
    return offered


# --- The ServerHello


def selection(index) -> bytes:
    """`index` of the ticket that was found; None: an empty list."""
    return vector(2, b"" if index is None else bytes([CERT]) + u16(index))


def read_selection(data, is_offered: bool, sent: list, is_resumed: bool):
    """The place of the selected ticket, or None. `data` is None where the server did not answer."""
    if data is None:
        return None
    if not is_offered:
        raise Alert(UNSUPPORTED_EXTENSION, "the server answers an extension that was not offered")
    if not sent:
        if data:
            raise Alert(ILLEGAL_PARAMETER, "the server selects a ticket, and none was sent")
        return None
    reader = Reader(data, "the server's selection")
    entries = reader.inner(2)
    reader.end()
    if not entries:
        return None
    kind, index = entries.number(1), entries.number(2)
    entries.end()
    if is_resumed:
        raise Alert(ILLEGAL_PARAMETER, "a ticket is selected in a resumed session, which has no certificates")
    if kind != CERT or index >= len(sent):
        raise Alert(ILLEGAL_PARAMETER, f"the server selects type {kind} at {index}, which was not offered")
    return index


# --- The client's Certificate


def abbreviated(fingerprint: bytes, is_bound: bool) -> bytes:
    return message(CERTIFICATE, vector(1, fingerprint) if is_bound else b"")


def read_abbreviated(body: bytes, is_bound: bool):
    """The fingerprint of the bound form, None of the paper's."""
    reader = Reader(body, "Certificate after a selection")
    value = reader.vector(1) if is_bound else None
    reader.end()
    if value is not None and len(value) != FINGERPRINT_LENGTH:
        raise Alert(DECODE_ERROR, f"a fingerprint of {len(value)} bytes")
    return value
