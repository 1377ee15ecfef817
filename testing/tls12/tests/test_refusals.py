"""An end that misbehaves in a handshake is refused, with the right alert, and nothing is learned of it."""

import unittest

from cryptography import x509

from tests.ends import CLIENT_NAME, Pair, identity
from tls12 import alerts, bithac, cached_info, messages, pki, signatures
from tls12.alerts import Alert, PeerAlert
from tls12.arms import BITHAC, BITHAC_BOUND, RFC7924, SESSION_ID, VANILLA, Arm
from tls12.client import Client
from tls12.server import Server


class Instead:
    """Sends another message in place of those of one type."""

    kind, replacement = None, b""

    def send(self, data):
        super().send(type(self).replacement if data[0] == self.kind else data)


def server_that_sends(kind, replacement):
    return type("Deviating", (Instead, Server), {"kind": kind, "replacement": replacement})


def client_that_sends(kind, replacement):
    return type("Deviating", (Instead, Client), {"kind": kind, "replacement": replacement})


def server_that_answers(**answers):
    """With these values in its ServerHello, by the name of the extension."""

    class Answering(Server):
        def answers(self, hello):
            values = super().answers(hello)
            values.update({getattr(messages, name): value for name, value in answers.items()})
            return values

        def common_answers(self, hello):
            values = super().common_answers(hello)
            if self.arm.session_id:
                values.update({getattr(messages, name): value for name, value in answers.items()})
            return values

    return Answering


class Refusals(unittest.TestCase):
    def refused(self, pair, alert, by_client=True):
        known = self.what_is_known(pair, by_client)
        ends = pair.meet()
        refusing, refused = ends if by_client else ends[::-1]
        self.assertIsInstance(refusing, Alert, ends)
        self.assertIsInstance(refused, PeerAlert, ends)
        self.assertEqual(alerts.name(refusing.number), alerts.name(alert), ends)
        self.assertEqual(refused.number, alert)
        self.assertLessEqual(self.what_is_known(pair, by_client), known)

    @staticmethod
    def what_is_known(pair, by_client):
        """By the end that refuses: the other may have finished before."""
        cache = pair.client.cache if by_client else pair.server.cache
        return set(cache.objects) | set(cache.kept) if by_client else set(cache.clients)

    def known(self, arm):
        pair = Pair(arm)
        pair.must_meet()
        return pair

    # --- The server

    def test_whole_messages_after_a_selection(self):
        pair = self.known(RFC7924)
        whole = messages.certificate(pair.server.identity.chain)
        pair.make_server = server_that_sends(messages.CERTIFICATE, whole)
        self.refused(pair, alerts.DECODE_ERROR)
        pair = self.known(RFC7924)
        whole = messages.certificate_request([64], [0x0403])
        pair.make_server = server_that_sends(messages.CERTIFICATE_REQUEST, whole)
        self.refused(pair, alerts.DECODE_ERROR)

    def test_a_compressed_certificate_after_a_selection(self):
        pair = self.known(RFC7924)
        pair.make_server = server_that_sends(messages.CERTIFICATE, messages.message(25, bytes(37)))
        self.refused(pair, alerts.UNEXPECTED_MESSAGE)

    def test_a_wrong_fingerprint(self):
        pair = self.known(RFC7924)
        wrong = cached_info.abbreviated(messages.certificate([b"another"]))
        pair.make_server = server_that_sends(messages.CERTIFICATE, wrong)
        self.refused(pair, alerts.ILLEGAL_PARAMETER)

    def test_a_fingerprint_without_a_selection(self):
        pair = Pair(VANILLA)
        short = cached_info.abbreviated(messages.certificate(pair.server.identity.chain))
        pair.make_server = server_that_sends(messages.CERTIFICATE, short)
        self.refused(pair, alerts.DECODE_ERROR)

    def test_unsolicited_answers(self):
        for answers in ({"CACHED_INFO": b"\0\x01\x01"}, {"BITHAC": b""}):
            pair = Pair(VANILLA)
            pair.make_server = server_that_answers(**answers)
            self.refused(pair, alerts.UNSUPPORTED_EXTENSION)
        # Offered in general, but not in the first hello, which had nothing to offer.
        pair = Pair(RFC7924)
        pair.make_server = server_that_answers(CACHED_INFO=b"\0\x01\x01")
        self.refused(pair, alerts.UNSUPPORTED_EXTENSION)

    def test_a_type_that_was_not_offered(self):
        pair = self.known(RFC7924)
        pair.make_server = server_that_answers(CACHED_INFO=b"\0\x02\x01\x03")
        self.refused(pair, alerts.ILLEGAL_PARAMETER)

    def test_a_ticket_that_was_not_sent(self):
        pair = self.known(BITHAC)
        pair.make_server = server_that_answers(BITHAC=bithac.selection(1))
        self.refused(pair, alerts.ILLEGAL_PARAMETER)
        pair = Pair(BITHAC)
        pair.make_server = server_that_answers(BITHAC=bithac.selection(0))
        self.refused(pair, alerts.ILLEGAL_PARAMETER)

    def test_a_selection_in_a_resumed_session(self):
        """TLS 1.2's counterpart of a selection together with an accepted PSK."""
        both = Arm("both", cached_info=True, tickets=True, session_id=True)
        for answers in ({"CACHED_INFO": b"\0\x01\x01"}, {"BITHAC": bithac.selection(0)}):
            pair = self.known(both)
            pair.make_server = server_that_answers(**answers)
            self.refused(pair, alerts.ILLEGAL_PARAMETER)

    def test_a_wrong_signature(self):
        for arm in (VANILLA, RFC7924, BITHAC_BOUND):
            pair = self.known(arm)

            class Wrong(Server):
                def key_exchange(self):
                    private, message = super().key_exchange()
                    _, point, scheme, _ = messages.read_server_key_exchange(message[4:])
                    signature = signatures.sign(self.config.identity.key, scheme, b"other data")
                    return private, messages.server_key_exchange(messages.ecdh_parameters(point), scheme, signature)

            pair.make_server = Wrong
            self.refused(pair, alerts.DECRYPT_ERROR)

    # --- The client

    def test_a_whole_certificate_after_a_ticket_was_selected(self):
        for arm in (BITHAC, BITHAC_BOUND):
            pair = self.known(arm)
            pair.make_client = client_that_sends(messages.CERTIFICATE, messages.certificate(pair.client.identity.chain))
            self.refused(pair, alerts.DECODE_ERROR, by_client=False)

    def test_an_abbreviated_certificate_without_a_selection(self):
        for message in (bithac.abbreviated(b"", False), bithac.abbreviated(bytes(32), True)):
            pair = Pair(BITHAC)
            pair.make_client = client_that_sends(messages.CERTIFICATE, message)
            self.refused(pair, alerts.DECODE_ERROR, by_client=False)

    def test_no_certificate(self):
        pair = Pair(VANILLA)
        pair.make_client = client_that_sends(messages.CERTIFICATE, messages.certificate([]))
        self.refused(pair, alerts.HANDSHAKE_FAILURE, by_client=False)

    def test_offers_that_are_none(self):
        for arm, kind, value in (
            (RFC7924, messages.CACHED_INFO, b"\0\0"),
            (RFC7924, messages.CACHED_INFO, b"\0\x02\x01\0"),
            (BITHAC, messages.BITHAC, b"\0\0"),
            (BITHAC, messages.BITHAC, b"\0\x01\x01"),
        ):
            pair = Pair(arm)

            class Odd(Client):
                def extensions(self):
                    return {**super().extensions(), kind: value}

            pair.make_client = Odd
            self.refused(pair, alerts.DECODE_ERROR, by_client=False)

    def test_a_stolen_ticket_is_of_no_use_without_the_key(self):
        for arm in (BITHAC, BITHAC_BOUND):
            pair = self.known(arm)
            thief = Pair(arm)
            thief.must_meet()
            # Another key; the ticket and, in the bound form, the fingerprint are the victim's.
            pair.client.identity = pair.client.identity._replace(key=thief.server.identity.key)
            self.refused(pair, alerts.DECRYPT_ERROR, by_client=False)

    def test_a_session_without_its_extended_master_secret(self):
        pair = self.known(SESSION_ID)
        pair.client.extended = False
        self.refused(pair, alerts.HANDSHAKE_FAILURE, by_client=False)

        pair = self.known(SESSION_ID)

        class Forgetting(Server):
            def session_of(self, hello):
                self.facts.extended = False
                return next(iter(self.cache.sessions.values()))

        pair.make_server = Forgetting
        self.refused(pair, alerts.HANDSHAKE_FAILURE)

    def test_a_wrong_finished(self):
        wrong = messages.message(messages.FINISHED, bytes(12))
        for arm in (VANILLA, BITHAC_BOUND, SESSION_ID):
            pair = self.known(arm)
            pair.make_server = server_that_sends(messages.FINISHED, wrong)
            self.refused(pair, alerts.DECRYPT_ERROR)
            pair = self.known(arm)
            pair.make_client = client_that_sends(messages.FINISHED, wrong)
            if arm is SESSION_ID:  # the client's is the last, and what it sends behind it may be lost with the end
                self.assertEqual(pair.meet(talk=False)[1].number, alerts.DECRYPT_ERROR)
            else:
                self.refused(pair, alerts.DECRYPT_ERROR, by_client=False)

    # --- Chains

    def test_a_chain_of_strangers(self):
        pair = Pair(VANILLA)
        pair.client.identity = identity(pki.P256, "stranger", pki.CLIENT)
        self.refused(pair, alerts.UNKNOWN_CA, by_client=False)

    def test_a_certificate_for_another_purpose(self):
        pair = Pair(VANILLA)
        mine = pair.client.identity
        pair.client.identity = pki.make_leaf(mine.issuer, mine.key, CLIENT_NAME, pki.SERVER)
        self.refused(pair, alerts.UNSUPPORTED_CERTIFICATE, by_client=False)

    def test_a_leaf_that_plays_authority(self):
        pair = Pair(VANILLA)
        mine = pair.client.identity
        leaf = pki.Issuer(x509.load_der_x509_certificate(mine.chain[0]), mine.key)
        forged = pki.make_leaf(leaf, mine.key, "director.plant", pki.CLIENT)
        pair.client.identity = forged._replace(chain=[forged.chain[0], *mine.chain])
        self.refused(pair, alerts.UNKNOWN_CA, by_client=False)

    def test_a_certificate_that_is_none(self):
        pair = Pair(VANILLA)
        whole = messages.certificate([b"certificate", *pair.client.identity.chain[1:]])
        pair.make_client = client_that_sends(messages.CERTIFICATE, whole)
        self.refused(pair, alerts.BAD_CERTIFICATE, by_client=False)


if __name__ == "__main__":
    unittest.main()
