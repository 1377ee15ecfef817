"""Bytes: vectors and numbers (RFC 5246, 4), and a reader that ends with decode_error."""

from .alerts import DECODE_ERROR, Alert


def vector(width: int, data: bytes) -> bytes:
    """`data` behind its length in `width` bytes."""
    return len(data).to_bytes(width, "big") + data


def u16(number: int) -> bytes:
    return number.to_bytes(2, "big")


class Reader:
    """Reads from the front; `what` is for the sentence when there is too little or too much."""

    def __init__(self, data: bytes, what: str):
        self.data, self.what = bytes(data), what

    def __bool__(self) -> bool:
        return bool(self.data)

    def take(self, length: int) -> bytes:
        if len(self.data) < length:
            raise Alert(DECODE_ERROR, f"{self.what} is too short")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def vector(self, width: int) -> bytes:
        return self.take(self.number(width))

    def inner(self, width: int) -> "Reader":
        return Reader(self.vector(width), self.what)

    def end(self):
        if self.data:
            raise Alert(DECODE_ERROR, f"{self.what} has {len(self.data)} bytes too many")


def list_u16(data: bytes, what: str) -> list:
    if len(data) % 2:
        raise Alert(DECODE_ERROR, f"{what} has an odd length")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
