"""Who speaks: this package's arms, OpenSSL through Python's `ssl`, wolfSSL through its library.

Ends of all three do the same: a handshake, a message of four bytes each way, and a close that both announce.
"""

import ctypes
import ctypes.util
import os
import ssl
from dataclasses import dataclass

from .. import pki
from ..arms import Arm
from ..cache import ClientCache, ServerCache
from ..client import Client
from ..handshake import Config
from ..server import Server

SERVER_NAME, CLIENT_NAME = "server.plant", "pump-17.plant"
PING, PONG = b"ping", b"pong"
OPENSSL_SUITES = {"rsa": "ECDHE-RSA-AES256-GCM-SHA384", "p256": "ECDHE-ECDSA-AES256-GCM-SHA384"}


@dataclass
class Keys:
    """Both identities, and the same as files for the libraries."""

    kind: str
    server: pki.Identity
    client: pki.Identity
    directory: str

    @property
    def suite(self) -> str:
        return OPENSSL_SUITES["p256" if self.kind == pki.P256 else "rsa"]

    def files(self, own: pki.Identity, peer: pki.Identity) -> tuple:
        """Chain, key, and the peer's root."""
        contents = pki.pem_of_chain(own.chain), pki.pem_of_key(own.key), pki.pem_of_chain([pki.der(peer.root)])
        return tuple(self._write(content) for content in contents)

    def _write(self, content: bytes) -> str:
        path = os.path.join(self.directory, str(len(os.listdir(self.directory))))
        with open(path, "wb") as file:
            file.write(content)
        return path


class Tessera:
    """The arms of this package."""

    def __init__(self, keys: Keys, arm: Arm, gathers: bool = True):
        # `counted`: bytes of the last connection's records, as the client saw them.
        self.arm, self.counted = arm, 0
        of_client, of_server = pki.Trust([keys.client.root], pki.CLIENT), pki.Trust([keys.server.root], pki.SERVER)
        self.server = Config(keys.server, of_client, ServerCache(), arm, gathers=gathers)
        self.client = Config(keys.client, of_server, ClientCache(), arm, SERVER_NAME, gathers=gathers)

    def serve(self, sock):
        connection = Server(sock, self.server).run()
        assert connection.receive() == PING
        connection.send(PONG)
        assert connection.receive() == b""
        connection.close()

    def connect(self, sock) -> str:
        connection = Client(sock, self.client).run()
        connection.send(PING)
        assert connection.receive() == PONG
        connection.close()
        assert connection.receive() == b""
        self.counted = connection.bytes_by("sent") + connection.bytes_by("received")
        facts = connection.facts
        return "resumed" if facts.resumed else ", ".join(sorted(facts.cached)) or "full"

    def repeats_as(self) -> str:
        names = ["server Certificate", "CertificateRequest"] if self.arm.cached_info else []
        names += ["client Certificate"] if self.arm.tickets else []
        return "resumed" if self.arm.session_id else ", ".join(sorted(names)) or "full"


class OpenSsl:
    """Python's `ssl`. `way`: full, session-id or tickets."""

    def __init__(self, keys: Keys, way: str):
        self.way, self.session = way, None
        self.server = self._context(ssl.PROTOCOL_TLS_SERVER, keys, keys.server, keys.client)
        self.client = self._context(ssl.PROTOCOL_TLS_CLIENT, keys, keys.client, keys.server)

    def _context(self, protocol, keys, own, peer):
        context = ssl.SSLContext(protocol)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(keys.suite)
        context.set_ecdh_curve("prime256v1")
        context.verify_mode = ssl.CERT_REQUIRED
        chain, key, root = keys.files(own, peer)
        context.load_cert_chain(chain, key)
        context.load_verify_locations(root)
        if self.way != "tickets":
            context.options |= ssl.OP_NO_TICKET
        return context

    def serve(self, sock):
        with self.server.wrap_socket(sock, server_side=True) as stream:
            assert stream.recv(64) == PING
            stream.sendall(PONG)
            assert stream.recv(64) == b""
            stream.unwrap()

    def connect(self, sock) -> str:
        session = None if self.way == "full" else self.session
        with self.client.wrap_socket(sock, server_hostname=SERVER_NAME, session=session) as stream:
            stream.sendall(PING)
            assert stream.recv(64) == PONG
            self.session = self.session or stream.session
            resumed = stream.session_reused
            stream.unwrap()
        return "resumed" if resumed else "full"

    def repeats_as(self) -> str:
        return "full" if self.way == "full" else "resumed"


def wolfssl_library():
    """The library, or None."""
    name = ctypes.util.find_library("wolfssl")
    if not name:
        return None
    library = ctypes.CDLL(name)
    for function in ("wolfTLSv1_2_client_method", "wolfTLSv1_2_server_method", "CTX_new", "new", "get1_session"):
        function = function if function.startswith("wolf") else "wolfSSL_" + function
        getattr(library, function).restype = ctypes.c_void_p
    library.wolfSSL_lib_version.restype = ctypes.c_char_p
    library.wolfSSL_Init()
    return library


class WolfSsl:
    """wolfSSL's library. `way`: full or session-id."""

    def __init__(self, keys: Keys, way: str):
        self.library, self.way, self.session = wolfssl_library(), way, None
        self.server = self._context("wolfTLSv1_2_server_method", keys, keys.server, keys.client)
        self.client = self._context("wolfTLSv1_2_client_method", keys, keys.client, keys.server)

    def _context(self, method, keys, own, peer):
        lib = self.library
        context = ctypes.c_void_p(lib.wolfSSL_CTX_new(ctypes.c_void_p(getattr(lib, method)())))
        chain, key, root = (path.encode() for path in keys.files(own, peer))
        self._must(lib.wolfSSL_CTX_use_certificate_chain_file(context, chain), "chain")
        self._must(lib.wolfSSL_CTX_use_PrivateKey_file(context, key, 1), "key")
        self._must(lib.wolfSSL_CTX_load_verify_locations(context, root, None), "root")
        self._must(lib.wolfSSL_CTX_set_cipher_list(context, keys.suite.encode()), "suite")
        lib.wolfSSL_CTX_set_verify(context, 1 | 2, None)  # the peer must have a certificate
        # Debian's build gathers a flight by itself; others must be asked to.
        self._must(lib.wolfSSL_CTX_set_group_messages(context), "one write a flight")
        return context

    def serve(self, sock):
        lib = self.library
        stream = self._stream(self.server, sock)
        self._must(lib.wolfSSL_accept(stream), "accept")
        assert self._read(stream) == PING
        assert lib.wolfSSL_write(stream, PONG, len(PONG)) == len(PONG)
        assert self._read(stream) == b""
        lib.wolfSSL_shutdown(stream)
        lib.wolfSSL_free(stream)

    def connect(self, sock) -> str:
        lib = self.library
        stream = self._stream(self.client, sock)
        self._must(lib.wolfSSL_UseSNI(stream, 0, SERVER_NAME.encode(), len(SERVER_NAME)), "name")
        if self.session and self.way != "full":
            self._must(lib.wolfSSL_set_session(stream, self.session), "session")
        self._must(lib.wolfSSL_connect(stream), "connect")
        assert lib.wolfSSL_write(stream, PING, len(PING)) == len(PING)
        assert self._read(stream) == PONG
        if self.session is None:
            self.session = ctypes.c_void_p(lib.wolfSSL_get1_session(stream))
        resumed = lib.wolfSSL_session_reused(stream)
        lib.wolfSSL_shutdown(stream)
        lib.wolfSSL_shutdown(stream)  # waits for the server's
        lib.wolfSSL_free(stream)
        return "resumed" if resumed else "full"

    def repeats_as(self) -> str:
        return "full" if self.way == "full" else "resumed"

    def _stream(self, context, sock):
        stream = ctypes.c_void_p(self.library.wolfSSL_new(context))
        self._must(self.library.wolfSSL_set_fd(stream, sock.fileno()), "socket")
        return stream

    def _read(self, stream) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        length = self.library.wolfSSL_read(stream, buffer, len(buffer))
        return buffer.raw[: max(0, length)]

    @staticmethod
    def _must(returned, what):
        if returned != 1:
            raise RuntimeError(f"wolfSSL refuses: {what} ({returned})")
