"""How scripts build the images of this folder, run them in QEMU, and start OpenSSL for them."""

import os
import subprocess
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", FIRMWARE / "target"))
RELEASE = TARGET / "thumbv8m.main-none-eabi/release"
# Each image is a feature.
IMAGES = ["psk", "p256", "hybrid", "ml-dsa"]
QEMU = ["qemu-system-arm", "-M", "mps2-an505", "-nographic", "-monitor", "none",
        "-semihosting-config", "enable=on,target=native", "-icount", "shift=7"]
LIMIT = 600  # seconds, of a run
# The key of src/ends.rs.
PSK = ["-nocert", "-psk_identity", "device", "-psk", "07" * 32]
GROUPS = {"psk": "X25519", "p256": "X25519", "hybrid": "X25519MLKEM768", "ml-dsa": "X25519MLKEM768"}
SMALL = ["--config", 'profile.release.opt-level="z"', "-Zbuild-std-features=optimize_for_size", "--config",
         "target.thumbv8m.main-none-eabi.rustflags="
         """['--cfg', 'sha2_backend_soft="compact"', '-Zunstable-options', '-Cpanic=immediate-abort', '-Zfmt-debug=none', '-Clink-arg=--icf=all', '-Cllvm-args=--inline-threshold=12']"""]


def build(image, programs, is_small, folder=FIRMWARE, **variables):
    """Builds programs of an image, with environment variables that they read."""
    # build-std is an unstable option, which RUSTC_BOOTSTRAP allows on a stable compiler.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1", "RUSTC": "/usr/bin/rustc", "CARGO_TARGET_DIR": str(TARGET)}
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"]:
        environment.pop(name, None)
    command = ["/usr/bin/cargo", "build", "--release", "--locked", "--quiet", "--features", image, *programs,
               *(SMALL if is_small else [])]
    subprocess.run(command, cwd=folder, env=environment | variables, check=True)


def flash(program):
    """The size of .text and .rodata."""
    listing = subprocess.run(["size", "-A", program], check=True, capture_output=True, text=True).stdout
    sizes = [line.split() for line in listing.splitlines()]
    return sum(int(words[1]) for words in sizes if words and words[0] in (".text", ".rodata"))


def to_pem(certificate, folder):
    """Writes a certificate of the images' PKI as PEM; returns where."""
    pem = folder / f"{certificate}.pem"
    der = FIRMWARE / "pki" / f"{certificate}.der"
    subprocess.run(["openssl", "x509", "-inform", "DER", "-in", der, "-out", pem], check=True)
    return pem


def openssl_server(image, folder, times=1):
    """Returns what s_server knows of the client, or of itself; it sends the intermediate certificate so many times."""
    if image == "psk":
        return PSK
    chain = folder / "openssl-chain.pem"
    chain.write_text(times * to_pem("between", folder).read_text())
    pki = FIRMWARE / "pki"
    return ["-cert", pki / "server.der", "-certform", "DER", "-key", pki / "server.key.der", "-keyform", "DER",
            "-cert_chain", chain]


def connect(port):
    """Runs a client alone whose UART is a connection to this port; returns its exit code."""
    # Without a delay, since what waits to be sent is lost when the emulator ends.
    serial = ["-serial", f"tcp:127.0.0.1:{port},nodelay=on"]
    return subprocess.run([*QEMU, *serial, "-kernel", RELEASE / "client"], capture_output=True, timeout=60).returncode
