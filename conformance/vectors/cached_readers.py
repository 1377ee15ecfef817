"""What a receiver of cached handshakes refuses from the bytes alone (docs/cached-handshakes.md, 13).

The numbers in comments are its sections.
"""

from reading import Reader

CERT, CERT_REQ = b"\x01", b"\x02"


class Refused(Exception):
    pass


def refuse(alert: str, read, data: bytes):
    """Reads, and refuses with this alert what can't be read to its last byte."""
    try:
        return read(Reader(data))
    except (AssertionError, ValueError) as error:
        raise Refused(alert) from error


def read_tickets(body: bytes) -> list:  # 4
    """The tickets, and the fleet ticket behind them if there is one."""

    def tickets(reader):
        found = [reader.take(8), reader.take(8)]
        sealed = [reader.vector(1)] if reader.data else []
        reader.end()
        assert all(sealed), "none that is empty"
        return found + sealed

    if not body:
        return []
    found = refuse("decode_error", tickets, body)
    if found[0] == found[1]:
        raise Refused("illegal_parameter")
    return found


def read_answer(body: bytes):  # 4
    if body:
        raise Refused("decode_error")


def read_ids(body: bytes) -> list:  # RFC 8879, 3
    def ids(reader):
        listed = reader.vector(1)
        reader.end()
        assert listed and len(listed) % 2 == 0
        return [listed[i : i + 2] for i in range(0, len(listed), 2)]

    return refuse("decode_error", ids, body)


def read_content(inside: bytes) -> list:  # 7
    def staples(reader):
        reader.take(32)
        found = []
        while reader.data:
            found.append(reader.vector(2))
        assert any(found) or not found, "longer than it need be"
        return found

    return refuse("bad_certificate", staples, inside)


def read_cached_info(body: bytes, of_client: bool = True) -> list:  # 9.1
    def objects(reader):
        listed = Reader(reader.vector(2))
        reader.end()
        found = []
        while listed.data:
            kind = listed.take(1)
            found.append((kind, listed.vector(1) if of_client else b""))
            length = len(found[-1][1])
            assert not of_client or length == 32 or length and kind not in (CERT, CERT_REQ)
        assert found
        return found

    found = refuse("decode_error", objects, body)
    kinds = [kind for kind, _ in found]
    if not of_client and len(set(kinds)) < len(kinds):
        raise Refused("illegal_parameter")
    return found


def read_answered_info(body: bytes) -> list:  # 9.1
    return read_cached_info(body, of_client=False)


def read_bithac(body: bytes) -> list:  # 9.2
    def tickets(reader):
        listed = Reader(reader.vector(2))
        reader.end()
        found = []
        while listed.data:
            found.append((listed.take(1), listed.vector(1)))
            assert len(found[-1][1]) == 8 or found[-1][1] and found[-1][0] != CERT
        assert found
        return found

    return refuse("decode_error", tickets, body) if body else []


def read_answered_bithac(body: bytes) -> list:  # 9.2
    def selected(reader):
        listed = Reader(reader.vector(2))
        reader.end()
        found = []
        while listed.data:
            found.append((listed.take(1), listed.number(2)))
        return found

    return refuse("decode_error", selected, body) if body else []


def read_abbreviated(body: bytes) -> tuple:  # 9.3
    def abbreviated(reader):
        found = reader.vector(1)
        assert len(found) == 32
        return found, read_content(found + reader.data)

    try:
        return refuse("decode_error", abbreviated, body)
    except Refused:
        raise Refused("decode_error") from None


READERS = {
    "ClientHello cached_certificates": read_tickets,
    "EncryptedExtensions cached_certificates": read_answer,
    "compress_certificate": read_ids,
    "content": read_content,
    "ClientHello cached_info": read_cached_info,
    "EncryptedExtensions cached_info": read_answered_info,
    "ClientHello bithac": read_bithac,
    "EncryptedExtensions bithac": read_answered_bithac,
    "abbreviated Certificate": read_abbreviated,
}
