"""Handshake messages (RFC 5246, 7.4; RFC 8422): written and read, nothing else."""

from dataclasses import dataclass, field

from .alerts import DECODE_ERROR, ILLEGAL_PARAMETER, PROTOCOL_VERSION, UNEXPECTED_MESSAGE, Alert
from .wire import Reader, list_u16, u16, vector

CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SERVER_KEY_EXCHANGE = 1, 2, 11, 12
CERTIFICATE_REQUEST, SERVER_HELLO_DONE, CERTIFICATE_VERIFY, CLIENT_KEY_EXCHANGE, FINISHED = 13, 14, 15, 16, 20

NAMES = {
    CLIENT_HELLO: "ClientHello",
    SERVER_HELLO: "ServerHello",
    4: "NewSessionTicket",
    CERTIFICATE: "Certificate",
    SERVER_KEY_EXCHANGE: "ServerKeyExchange",
    CERTIFICATE_REQUEST: "CertificateRequest",
    SERVER_HELLO_DONE: "ServerHelloDone",
    CERTIFICATE_VERIFY: "CertificateVerify",
    CLIENT_KEY_EXCHANGE: "ClientKeyExchange",
    FINISHED: "Finished",
    25: "CompressedCertificate",
}

# Extensions.
SERVER_NAME, SUPPORTED_GROUPS, EC_POINT_FORMATS, SIGNATURE_ALGORITHMS = 0, 10, 11, 13
EXTENDED_MASTER_SECRET, CACHED_INFO, RENEGOTIATION_INFO = 23, 25, 0xFF01
# The paper gives no number. Private use, and another than those of our extensions for TLS 1.3.
BITHAC = 0xFF5D

ECDHE_ECDSA, ECDHE_RSA = 0xC02C, 0xC030  # with AES_256_GCM_SHA384
SUITES = (ECDHE_ECDSA, ECDHE_RSA)
RENEGOTIATION_SCSV = 0x00FF
SECP256R1 = 23
VERSION = 0x0303


def message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + vector(3, body)


def open_message(data: bytes, *kinds: int) -> bytes:
    """The body of a message that is of one of these kinds."""
    if data[0] not in kinds:
        due = " or ".join(NAMES[kind] for kind in kinds)
        raise Alert(UNEXPECTED_MESSAGE, f"{due} was due, and {NAMES.get(data[0], data[0])} came")
    return data[4:]


# --- Hellos


def extensions(values: dict) -> bytes:
    return vector(2, b"".join(u16(kind) + vector(2, value) for kind, value in values.items()))


def read_extensions(reader: Reader) -> dict:
    """They end what they are in, and may be absent (RFC 5246, 7.4.1.4)."""
    if not reader:
        return {}
    block, values = reader.inner(2), {}
    reader.end()
    while block:
        kind = block.number(2)
        if kind in values:
            raise Alert(DECODE_ERROR, f"two extensions {kind:#06x}")
        values[kind] = block.vector(2)
    return values


@dataclass
class ClientHello:
    random: bytes
    suites: list
    session_id: bytes = b""
    extensions: dict = field(default_factory=dict)

    def encode(self) -> bytes:
        suites = b"".join(map(u16, self.suites))
        body = u16(VERSION) + self.random + vector(1, self.session_id) + vector(2, suites) + b"\x01\0"
        return message(CLIENT_HELLO, body + extensions(self.extensions))

    @classmethod
    def decode(cls, body: bytes) -> "ClientHello":
        reader = Reader(body, "ClientHello")
        if reader.number(2) < VERSION:
            raise Alert(PROTOCOL_VERSION, "the client knows no TLS 1.2")
        random, session_id = reader.take(32), reader.vector(1)
        suites = list_u16(reader.vector(2), "the list of suites")
        if 0 not in reader.vector(1):
            raise Alert(ILLEGAL_PARAMETER, "the client lists no null compression")
        return cls(random, suites, session_id, read_extensions(reader))


@dataclass
class ServerHello:
    random: bytes
    suite: int
    session_id: bytes = b""
    extensions: dict = field(default_factory=dict)

    def encode(self) -> bytes:
        body = u16(VERSION) + self.random + vector(1, self.session_id) + u16(self.suite) + b"\0"
        return message(SERVER_HELLO, body + (extensions(self.extensions) if self.extensions else b""))

    @classmethod
    def decode(cls, body: bytes) -> "ServerHello":
        reader = Reader(body, "ServerHello")
        if reader.number(2) != VERSION:
            raise Alert(PROTOCOL_VERSION, "the server chose no TLS 1.2")
        random, session_id, suite = reader.take(32), reader.vector(1), reader.number(2)
        if reader.number(1) != 0:
            raise Alert(ILLEGAL_PARAMETER, "the server chose a compression")
        return cls(random, suite, session_id, read_extensions(reader))


def server_name(name: str) -> bytes:
    return vector(2, b"\0" + vector(2, name.encode("ascii")))


def read_server_name(data: bytes) -> str:
    reader = Reader(data, "server_name")
    names = reader.inner(2)
    reader.end()
    if names.number(1) != 0:
        raise Alert(DECODE_ERROR, "server_name is no host name")
    name = names.vector(2)
    names.end()
    try:
        return name.decode("ascii")
    except UnicodeDecodeError:
        raise Alert(DECODE_ERROR, "server_name is not ASCII") from None


def read_schemes(data: bytes) -> list:
    reader = Reader(data, "signature_algorithms")
    schemes = list_u16(reader.vector(2), "signature_algorithms")
    reader.end()
    return schemes


# --- Certificates and keys


def certificate(chain: list) -> bytes:
    return message(CERTIFICATE, vector(3, b"".join(vector(3, one) for one in chain)))


def read_certificate(body: bytes) -> list:
    reader = Reader(body, "Certificate")
    entries, chain = reader.inner(3), []
    reader.end()
    while entries:
        chain.append(entries.vector(3))
    return chain


def certificate_request(types: list, schemes: list) -> bytes:
    body = vector(1, bytes(types)) + vector(2, b"".join(map(u16, schemes))) + vector(2, b"")
    return message(CERTIFICATE_REQUEST, body)


def read_certificate_request(body: bytes) -> tuple:
    """Types and schemes; authorities are read and not used: an end has one certificate here."""
    reader = Reader(body, "CertificateRequest")
    types = list(reader.vector(1))
    schemes = list_u16(reader.vector(2), "the schemes of CertificateRequest")
    authorities = reader.inner(2)
    reader.end()
    while authorities:
        authorities.vector(2)
    return types, schemes


def ecdh_parameters(point: bytes) -> bytes:
    return b"\x03" + u16(SECP256R1) + vector(1, point)


def server_key_exchange(parameters: bytes, scheme: int, signature: bytes) -> bytes:
    return message(SERVER_KEY_EXCHANGE, parameters + u16(scheme) + vector(2, signature))


def read_server_key_exchange(body: bytes) -> tuple:
    """The parameters as sent, the point in them, scheme and signature."""
    reader = Reader(body, "ServerKeyExchange")
    if reader.take(3) != b"\x03" + u16(SECP256R1):
        raise Alert(ILLEGAL_PARAMETER, "the server chose a group that was not offered")
    point = reader.vector(1)
    scheme, signature = reader.number(2), reader.vector(2)
    reader.end()
    return ecdh_parameters(point), point, scheme, signature


def certificate_verify(scheme: int, signature: bytes) -> bytes:
    return message(CERTIFICATE_VERIFY, u16(scheme) + vector(2, signature))


def read_certificate_verify(body: bytes) -> tuple:
    reader = Reader(body, "CertificateVerify")
    scheme, signature = reader.number(2), reader.vector(2)
    reader.end()
    return scheme, signature


def client_key_exchange(point: bytes) -> bytes:
    return message(CLIENT_KEY_EXCHANGE, vector(1, point))


def read_client_key_exchange(body: bytes) -> bytes:
    reader = Reader(body, "ClientKeyExchange")
    point = reader.vector(1)
    reader.end()
    return point
