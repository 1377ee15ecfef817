"""One cell: two ends, one MTU, a first connection and ten more, each counted on its way."""

import socket
from contextlib import closing
from dataclasses import dataclass

from . import dissect
from .capture import Capture, streams
from .network import ADDRESSES, CLIENT, SERVER, Network

PORT = 4433
PATIENCE = 30.0


@dataclass
class Run:
    """One connection. `ip_tcp`: IP packets whole, so with TCP and TLS in them; no Ethernet."""

    how: str
    tls: int
    handshake: int
    ip_tcp: int
    packets: int
    sent_twice: int
    messages: dict


def measure(network: Network, ends, runs: int) -> tuple:
    """The first connection, so many after it, and how many others were not counted.

    The link loses nothing: what TCP sends twice, a timer sent while this machine was busy with something else.
    """
    listener = network.run_at(SERVER, _listen)
    taking = network.run_at(CLIENT, Capture)
    counted, discarded = [], 0
    with listener, closing(taking):
        first = _connect(network, listener, taking, ends)
        while len(counted) < runs:
            run = _connect(network, listener, taking, ends)
            if run.how != ends.repeats_as():
                raise RuntimeError(f"a repeated handshake was {run.how}, and not {ends.repeats_as()}")
            if run.sent_twice:
                discarded += 1
            else:
                counted.append(run)
            if discarded > 5 * runs + 5:
                raise RuntimeError("TCP's timers fire in most connections: this machine is too busy to measure")
    return first, counted, discarded


def _listen():
    return socket.create_server((ADDRESSES[SERVER], PORT))


def _connect(network: Network, listener, taking: Capture, ends) -> Run:
    serving = network.start_at(SERVER, _serve, listener, ends.serve)
    how = network.run_at(CLIENT, _dial, ends.connect)
    serving.result()
    return _run(how, network.run_at(CLIENT, taking.connection), network.mtu)


def _serve(listener, serve):
    sock, _ = listener.accept()
    with sock:
        _prepare(sock)
        serve(sock)


def _dial(connect) -> str:
    with socket.socket() as sock:
        _prepare(sock)
        sock.connect((ADDRESSES[SERVER], PORT))
        return connect(sock)


def _prepare(sock):
    # Blocking with a limit in the kernel: libraries that take the descriptor want no other kind.
    limit = int(PATIENCE).to_bytes(8, "little") + bytes(8)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _run(how: str, segments: list, mtu: int) -> Run:
    longest = max(one.ip_length for one in segments)
    if longest > mtu:
        raise RuntimeError(f"a packet of {longest} bytes at an MTU of {mtu}: offloads are on")
    client, server, repeated = streams(segments)
    sizes = dissect.by_message(client, server)
    tls = len(client) + len(server)
    assert tls == sum(sizes.values())
    ip_tcp = sum(one.ip_length for one in segments)
    return Run(how, tls, dissect.handshake_bytes(sizes), ip_tcp, len(segments), repeated, sizes)
