"""Two ends of a connection in one process, and what tests need around them."""

import socket
import threading
import time
from functools import lru_cache

from tls12 import pki
from tls12.alerts import Alert, PeerAlert
from tls12.arms import VANILLA
from tls12.cache import ClientCache, ServerCache
from tls12.client import Client
from tls12.handshake import Config
from tls12.server import Server

SERVER_NAME, CLIENT_NAME = "server.plant", "pump-17.plant"
PATIENCE = 20


@lru_cache(None)
def identity(kind: str, name: str, purpose=pki.SERVER) -> pki.Identity:
    """Made once: RSA keys take their time."""
    return pki.make_identity(kind, name, purpose)


class Clock:
    """A clock that a test sets, some seconds after the real one."""

    def __init__(self):
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Pair:
    """A client and a server that meet again and again."""

    def __init__(self, arm=VANILLA, kind=pki.P256, client_kind=None, clock=None, **both):
        server = identity(kind, SERVER_NAME)
        client = identity(client_kind or kind, CLIENT_NAME, pki.CLIENT)
        clock = clock or Clock()
        self.clock = clock
        self.client = Config(
            client, pki.Trust([server.root], pki.SERVER), ClientCache(), arm, SERVER_NAME, clock=clock, **both
        )
        self.server = Config(server, pki.Trust([client.root], pki.CLIENT), ServerCache(), arm, clock=clock, **both)
        self.make_client, self.make_server = Client, Server
        # Of the last meeting, however it ended.
        self.handshakes = [None, None]

    def meet(self, talk=True):
        """(client's end, server's end): each Facts, or the exception that ended it."""
        near, far = socket.socketpair()
        ends = [None, None]

        def run(place, make, sock, config, speaks_first):
            sock.settimeout(PATIENCE)
            with sock:
                try:
                    self.handshakes[place] = make(sock, config)
                    connection = self.handshakes[place].run()
                    if talk:
                        exchange(connection, speaks_first)
                    ends[place] = connection.facts
                except (Alert, PeerAlert, OSError) as error:
                    ends[place] = error

        thread = threading.Thread(target=run, args=(1, self.make_server, far, self.server, False))
        thread.start()
        run(0, self.make_client, near, self.client, True)
        thread.join()
        return tuple(ends)

    def must_meet(self):
        ends = self.meet()
        for end in ends:
            if isinstance(end, Exception):
                raise AssertionError(f"the handshake failed: {ends}")
        return ends

    def forget_at_server(self):
        """A restart: nothing of the server's cache was kept."""
        self.server.cache = ServerCache()


def exchange(connection, speaks_first: bool):
    if speaks_first:
        connection.send(b"ping")
        assert connection.receive() == b"pong"
        connection.close()
    else:
        assert connection.receive() == b"ping"
        connection.send(b"pong")
        assert connection.receive() == b""
        connection.close()
