"""What ends a handshake: an alert's number (RFC 5246, 7.2) and a sentence."""

CLOSE_NOTIFY = 0
UNEXPECTED_MESSAGE = 10
BAD_RECORD_MAC = 20
RECORD_OVERFLOW = 22
HANDSHAKE_FAILURE = 40
BAD_CERTIFICATE = 42
UNSUPPORTED_CERTIFICATE = 43
CERTIFICATE_REVOKED = 44
CERTIFICATE_EXPIRED = 45
ILLEGAL_PARAMETER = 47
UNKNOWN_CA = 48
DECODE_ERROR = 50
DECRYPT_ERROR = 51
PROTOCOL_VERSION = 70
INTERNAL_ERROR = 80
UNSUPPORTED_EXTENSION = 110

NAMES = {number: name.lower() for name, number in list(globals().items()) if isinstance(number, int)}


def name(number: int) -> str:
    return NAMES.get(number, f"alert {number}")


class Alert(Exception):
    """This end refuses: the peer gets the alert, the caller the sentence."""

    def __init__(self, number: int, sentence: str):
        super().__init__(f"{name(number)}: {sentence}")
        self.number = number


class PeerAlert(Exception):
    """The peer refused."""

    def __init__(self, number: int):
        super().__init__(f"the peer ended the handshake with {name(number)}")
        self.number = number
