"""Reads the files of vectors, and what is in them (RFC 8446, 3)."""

from pathlib import Path


class Values(dict):
    """The values of a section; it knows which have not been read."""

    def __init__(self):
        super().__init__()
        self.unread = set()

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self.unread.add(name)

    def __getitem__(self, name):
        self.unread.discard(name)
        return super().__getitem__(name)


def read(path: Path) -> dict:
    sections = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            values = sections[line[1:-1]] = Values()
        elif line and not line.startswith("#"):
            name, _, value = line.partition(" =")
            values[name] = bytes.fromhex(value)
    return sections


def expect(name: str, found: bytes, computed: bytes):
    assert found == computed, f"{name} is {found.hex()}, and computed {computed.hex()}"


class Reader:
    def __init__(self, data: bytes):
        self.data = data

    def take(self, length: int) -> bytes:
        taken, self.data = self.data[:length], self.data[length:]
        if len(taken) < length:
            raise ValueError("too short")
        return taken

    def number(self, length: int) -> int:
        return number(self.take(length))

    def vector(self, length: int) -> bytes:
        return self.take(self.number(length))

    def message(self, kind: int) -> "Reader":
        assert self.number(1) == kind, f"not a handshake message of type {kind}"
        body = Reader(self.vector(3))
        self.end()
        return body

    def extensions(self) -> dict:
        """By type, in order; they end what they are in."""
        block, extensions = Reader(self.vector(2)), {}
        self.end()
        while block.data:
            kind = block.number(2)
            assert kind not in extensions, f"two extensions {kind:#06x}"
            extensions[kind] = block.vector(2)
        return extensions

    def end(self):
        if self.data:
            raise ValueError("too long")


def vector(length: int, data: bytes) -> bytes:
    return len(data).to_bytes(length, "big") + data


def number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def pairs(data: bytes) -> list:
    return [data[i : i + 2] for i in range(0, len(data), 2)]
