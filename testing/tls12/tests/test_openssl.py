"""The vanilla arm against OpenSSL's s_server and s_client, with RSA and ECDSA chains, mutually authenticated."""

import os
import re
import socket
import subprocess
import tempfile
import unittest

from tests.ends import CLIENT_NAME, PATIENCE, SERVER_NAME, Pair
from tls12 import pki
from tls12.alerts import UNKNOWN_CA, PeerAlert
from tls12.arms import BITHAC, RFC7924, VANILLA
from tls12.client import Client
from tls12.server import Server

SUITE = {pki.P256: "ECDHE-ECDSA-AES256-GCM-SHA384", pki.RSA_2048: "ECDHE-RSA-AES256-GCM-SHA384"}


def write(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


class OpenSsl(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def files(self, own, peers_root):
        leaf, *others = own.chain
        return [
            "-cert", write(self.directory, "leaf", pki.pem_of_chain([leaf])),
            "-cert_chain", write(self.directory, "chain", pki.pem_of_chain(others)),
            "-key", write(self.directory, "key", pki.pem_of_key(own.key)),
            "-CAfile", write(self.directory, "roots", pki.pem_of_chain([pki.der(peers_root)])),
            "-verify_return_error", "-tls1_2",
        ]  # fmt: skip

    def start(self, *arguments):
        process = subprocess.Popen(
            ["openssl", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.kill)
        return process

    def start_server(self, *arguments):
        """The process, its port, and what it has printed."""
        arguments = "-accept", "127.0.0.1:0", "-naccept", "1", "-Verify", "3", *arguments
        process, said = self.start("s_server", *arguments), b""
        while not re.search(rb"ACCEPT 127.0.0.1:\d+", said):
            line = process.stdout.readline()
            self.assertTrue(line, f"s_server ended: {said}")
            said += line
        return process, int(re.search(rb"ACCEPT 127.0.0.1:(\d+)", said)[1]), said

    def our_client(self, arm, kind):
        """Facts, and what s_server printed."""
        pair = Pair(arm, kind)
        files = self.files(pair.server.identity, pair.client.identity.root)
        process, port, said = self.start_server(*files)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
            connection = Client(sock, pair.client).run()
            connection.send(b"from the client\n")
            process.stdin.write(b"from the server\n")
            process.stdin.flush()
            self.assertEqual(connection.receive(), b"from the server\n")
            connection.close()
        return connection.facts, (said + process.communicate(timeout=PATIENCE)[0]).decode()

    def our_server(self, arm, kind):
        pair = Pair(arm, kind)
        files = self.files(pair.client.identity, pair.server.identity.root)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE)
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            name = ["-servername", SERVER_NAME, "-verify_hostname", SERVER_NAME]
            process = self.start("s_client", "-connect", address, *name, *files)
            with listener.accept()[0] as sock:
                sock.settimeout(PATIENCE)
                connection = Server(sock, pair.server).run()
                process.stdin.write(b"from the client\n")
                process.stdin.flush()
                self.assertEqual(connection.receive(), b"from the client\n")
                connection.send(b"from the server\n")
                connection.close()
        return connection.facts, process.communicate(timeout=PATIENCE)[0].decode()

    def test_our_client(self):
        for kind, suite in SUITE.items():
            with self.subTest(kind):
                facts, said = self.our_client(VANILLA, kind)
                self.assertIn(f"CIPHER is {suite}", said)
                self.assertIn("from the client", said)
                self.assertIn(CLIENT_NAME, said)
                self.assertTrue(facts.extended)
                self.assertIn(SERVER_NAME, facts.peer)

    def test_our_server(self):
        for kind, suite in SUITE.items():
            with self.subTest(kind):
                facts, said = self.our_server(VANILLA, kind)
                self.assertRegex(said, rf"Cipher is {suite}|Cipher *: {suite}")
                self.assertIn("from the server", said)
                self.assertIn("Extended master secret: yes", said)
                self.assertIn("Verification: OK", said)
                self.assertIn(CLIENT_NAME, facts.peer)

    def test_openssl_passes_over_what_the_other_arms_offer(self):
        facts, _ = self.our_client(BITHAC, pki.P256)
        self.assertEqual(facts.cached, set())
        facts, _ = self.our_server(RFC7924, pki.P256)
        self.assertEqual(facts.cached, set())

    def test_openssl_refuses_a_client_of_another_authority(self):
        pair = Pair(VANILLA)
        files = self.files(pair.server.identity, pair.server.identity.root)
        _, port, _ = self.start_server(*files)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
            with self.assertRaises(PeerAlert) as caught:
                Client(sock, pair.client).run()
            self.assertEqual(caught.exception.number, UNKNOWN_CA)


if __name__ == "__main__":
    unittest.main()
