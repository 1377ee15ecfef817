"""Certificates, and the servers that the scripts talk to."""

import json
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

# The arguments of `openssl req` for a key of each kind.
KEYS = {
    "rsa": ["rsa:2048"],
    "rsa-pss": ["rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"],
    "p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "ed25519": ["ed25519"],
}


def make_certificates(directory, python):
    """Makes server-KIND.pem and client-KIND.pem, each with its .key, and ca.pem, which issued all; and
    rsa-many-names.pem, which is worth compressing. `python` has dilithium-py."""
    _openssl(directory, "req", "-x509", "-newkey", *KEYS["p256"], "-nodes", "-days", "2",
             "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA")
    for kind, key in KEYS.items():
        _issue(directory, f"server-{kind}", key, "serverAuth", ["localhost"])
        _issue(directory, f"client-{kind}", key, "clientAuth", ["client.example"])
    names = ["localhost", *(f"{number}.servers.example" for number in range(30))]
    _run(directory, python, Path(__file__).with_name("mldsa.py"), directory, "server", "client")
    _issue(directory, "rsa-many-names", KEYS["rsa"], "serverAuth", names)


def _issue(directory, file, key, usage, names):
    _openssl(directory, "req", "-newkey", *key, "-nodes", "-keyout", f"{file}.key",
             "-out", f"{file}.csr", "-subj", f"/CN={file}")
    extensions = directory / f"{file}.ext"
    extensions.write_text(
        f"basicConstraints=CA:FALSE\nextendedKeyUsage={usage}\nkeyUsage=digitalSignature\n"
        f"subjectAltName={','.join(f'DNS:{name}' for name in names)}\n"
    )
    _openssl(directory, "x509", "-req", "-in", f"{file}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", "2", "-extfile", extensions.name, "-out", f"{file}.pem")


def _openssl(directory, *arguments):
    _run(directory, "openssl", *arguments)


def _run(directory, *command):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stderr}")


@contextmanager
def running(tessera, name, arguments, directory):
    """Starts `tessera serve`, gives its port, and ends it: it must live until then, and end well."""
    facts, log = directory / f"{name}.json", directory / f"{name}.log"
    command = [tessera, "serve", "--listen", "127.0.0.1:0", "--quiet", "--json", facts, *arguments]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=directory, stdout=output, stderr=output)
    try:
        yield _port(server, facts, log)
        alive = server.poll() is None
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=10)
    if not alive or code != 0 or "panicked" in log.read_text():
        raise SystemExit(f"the server {name} failed (exit code {code}):\n{log.read_text()}")


def _port(server, facts, log):
    """The port of a server that has begun to listen: its first fact."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and server.poll() is None:
        line = facts.read_text() if facts.exists() else ""
        if line.endswith("\n"):
            return int(json.loads(line.splitlines()[0])["address"].rpartition(":")[2])
        time.sleep(0.02)
    raise SystemExit(f"no server: {' '.join(map(str, server.args))}\n{log.read_text()}")
