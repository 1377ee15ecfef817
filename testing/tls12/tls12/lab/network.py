"""Two network namespaces joined by a pair of virtual Ethernet devices, with an MTU and without offloads.

Offloads would hand packets over that are larger than the MTU: what is counted would then never be on a wire.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading

CLIENT, SERVER = "client", "server"
ADDRESSES = {CLIENT: "10.79.0.1", SERVER: "10.79.0.2"}
DEVICE = "link0"

_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
# ETHTOOL_STXCSUM, SSG, STSO, SGSO, SGRO: set to 0.
_OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)


class Unavailable(Exception):
    """Why nothing can be measured here, in a sentence."""


class Network:
    """Exists as long as its `with` block."""

    def __init__(self, mtu: int):
        self.mtu = mtu
        self.names = {end: f"tls12-{os.getpid()}-{end}" for end in (CLIENT, SERVER)}

    def __enter__(self) -> "Network":
        if os.geteuid() != 0:
            raise Unavailable("network namespaces take root: run it as root")
        try:
            for name in self.names.values():
                _ip("netns", "add", name)
            client, server = self.names.values()
            _ip("link", "add", DEVICE, "netns", client, "type", "veth", "peer", "name", DEVICE, "netns", server)
            for end, name in self.names.items():
                _ip("-n", name, "address", "add", ADDRESSES[end] + "/24", "dev", DEVICE)
                self.run_at(end, _switch_off)
                _ip("-n", name, "link", "set", DEVICE, "mtu", str(self.mtu), "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)

    def run_at(self, end: str, function, *arguments):
        """What `function` returns, run by a thread at that end. Its sockets stay there, wherever they are used."""
        return Thread(function, *arguments, at=self.names[end]).result()

    def start_at(self, end: str, function, *arguments) -> "Thread":
        return Thread(function, *arguments, at=self.names[end])


class Thread(threading.Thread):
    """A thread in a network namespace; `result` waits, and raises what the thread raised."""

    def __init__(self, function, *arguments, at: str):
        super().__init__(daemon=True)
        self.function, self.arguments, self.at = function, arguments, at
        self.returned = self.raised = None
        self.start()

    def run(self):
        try:
            _enter(self.at)
            self.returned = self.function(*self.arguments)
        except BaseException as error:  # raised where the result is read
            self.raised = error

    def result(self):
        self.join()
        if self.raised:
            raise self.raised
        return self.returned


def device_counts() -> tuple:
    """(packets, bytes) that the device at this thread's end has received and sent, as the kernel counts them."""
    with open("/proc/thread-self/net/dev", encoding="ascii") as file:
        line = next(line for line in file if line.strip().startswith(DEVICE + ":"))
    fields = [int(field) for field in line.split(":")[1].split()]
    return fields[1] + fields[9], fields[0] + fields[8]


def _enter(name: str):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{name}", "rb") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"can't enter the namespace {name}")


def _switch_off():
    """IPv6, which would speak by itself, and offloads."""
    try:
        with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")
    except FileNotFoundError:
        pass  # There is no IPv6 at all.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in _OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP8x", DEVICE.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


def _ip(*arguments):
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unavailable("there is no program ip: install Debian's package iproute2") from None
    if done.returncode != 0:
        raise Unavailable(f"no network namespaces here: ip {' '.join(arguments)}: {done.stderr.strip()}")
