"""What passes a device: every frame, taken as tcpdump would take it, and the two streams of bytes in them."""

import socket
import struct
import time
from dataclasses import dataclass

from .network import ADDRESSES, CLIENT, DEVICE, device_counts

ETH_P_ALL, ETH_P_IP, TCP = 0x0003, 0x0800, 6
SO_RCVBUFFORCE = 33
ETHERNET_HEADER = 14
SYN, FIN = 0x02, 0x01
PATIENCE, QUIET = 5.0, 0.01


@dataclass(frozen=True)
class Segment:
    from_client: bool
    ip_length: int
    sequence: int
    acknowledged: int
    flags: int
    data: bytes

    @property
    def end(self) -> int:
        """The number after it; SYN and FIN count one (RFC 9293, 3.4)."""
        return self.sequence + len(self.data) + bool(self.flags & SYN) + bool(self.flags & FIN)


class Capture:
    """Made at one end of the network, before the connections that it is to see, and used at that end."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 2**24)
        self.socket.bind((DEVICE, 0))
        self.socket.settimeout(QUIET)
        self.before, self.frames, self.frame_bytes = device_counts(), 0, 0

    def connection(self) -> list:
        """The segments since the last call: all of one connection, whose ends have closed.

        All is seen when the kernel's own counters say so, and nothing more comes for a while.
        """
        segments, until = [], time.monotonic() + PATIENCE
        while True:
            try:
                frame = self.socket.recv(2**16)
            except socket.timeout:
                if _is_over(segments) and self._has_all():
                    return segments
                if time.monotonic() > until:
                    raise RuntimeError("the connection did not end, or not all of it was captured") from None
                continue
            self.frames, self.frame_bytes = self.frames + 1, self.frame_bytes + len(frame)
            segment = read_frame(frame)
            if segment:
                segments.append(segment)

    def _has_all(self) -> bool:
        packets, size = device_counts()
        return (packets - self.before[0], size - self.before[1]) == (self.frames, self.frame_bytes)

    def close(self):
        self.socket.close()


def read_frame(frame: bytes):
    """A segment of TCP over IPv4; None for other frames (ARP)."""
    if int.from_bytes(frame[12:14], "big") != ETH_P_IP:
        return None
    packet = frame[ETHERNET_HEADER:]
    header, length = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
    if packet[9] != TCP:
        return None
    source, segment = socket.inet_ntoa(packet[12:16]), packet[header:length]
    sequence, acknowledged = struct.unpack(">II", segment[4:12])
    data = segment[(segment[12] >> 4) * 4 :]
    return Segment(source == ADDRESSES[CLIENT], length, sequence, acknowledged, segment[13], data)


def _is_over(segments: list) -> bool:
    """Both ends have closed, and both know it."""
    ends = {one.from_client: one.end for one in segments if one.flags & FIN}
    seen = {(one.from_client, one.acknowledged) for one in segments}
    return len(ends) == 2 and all((not way, end % 2**32) in seen for way, end in ends.items())


def streams(segments: list) -> tuple:
    """(the client's bytes, the server's bytes, bytes that came twice), in the order of their numbers."""
    assembled, repeated = [], 0
    for from_client in (True, False):
        own = [one for one in segments if one.from_client == from_client]
        first = next(one.sequence for one in own if one.flags & SYN) + 1
        stream = bytearray()
        for one in sorted(own, key=lambda one: (one.sequence - first + 2**31) % 2**32):
            at = (one.sequence - first) % 2**32
            if not one.data:
                continue
            if at > len(stream):
                raise RuntimeError("bytes are missing from a stream")
            repeated += min(len(one.data), len(stream) - at)
            stream += one.data[len(stream) - at :]
        assembled.append(bytes(stream))
    return assembled[0], assembled[1], repeated
