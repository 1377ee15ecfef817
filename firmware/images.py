"""How scripts build the images of this folder, run them in QEMU, and start OpenSSL for them."""

import base64
import json
import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import sizes

FIRMWARE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", FIRMWARE / "target"))
RELEASE = TARGET / "thumbv8m.main-none-eabi/release"
# Each image is a feature of the same name, but one. `kems` is a program of size-peers, without features.
IMAGES = ["psk", "p256", "hybrid", "ml-dsa", "kem-pinned", "kem-raw-key", "kem-x509", "kem-x509-ml-dsa", "cached", "cached-rsa",
          "psk-datagram"]
FEATURES = {"psk-datagram": "psk", "kems": ""}
HYBRIDS = ["hybrid", "ml-dsa"]
# Where an image's chain is.
PKI = {"ml-dsa": FIRMWARE / "pki/ml-dsa", "cached-rsa": FIRMWARE / "pki/rsa"}
QEMU = ["qemu-system-arm", "-M", "mps2-an505", "-nographic", "-monitor", "none",
        "-semihosting-config", "enable=on,target=native", "-icount", "shift=7"]
LIMIT = 600  # seconds, of a run, and one more for each connection
# The key of src/external_psk.rs.
PSK = ["-nocert", "-psk_identity", "device", "-psk", "07" * 32]
SMALL = ["--config", 'profile.release.opt-level="z"', "-Zbuild-std-features=optimize_for_size", "--config",
         "target.thumbv8m.main-none-eabi.rustflags="
         """['--cfg', 'sha2_backend_soft="compact"', '-Zunstable-options', '-Cpanic=immediate-abort', '-Zfmt-debug=none', '-Clink-arg=--icf=all', '-Cllvm-args=--inline-threshold=12']"""]


# What all scripts run, and Debian's package that has it.
TOOLS = {"/usr/bin/cargo": "cargo-web", "/usr/bin/rustc": "rustc-web", "ld.lld": "lld", "qemu-system-arm": "qemu-system-arm",
         "openssl": "openssl", "size": "binutils"}


def missing():
    """What to install before anything is built, or nothing."""
    lacking = {tool: package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if not lacking and not Path("/usr/lib/rustlib/src/rust/library").exists():
        lacking = {"the sources of Rust's library": "rust-web-src"}
    return "; ".join(f"no {tool}: install Debian's {package}" for tool, package in lacking.items())


def program(image, role):
    """The path of an image's program."""
    return RELEASE / (f"datagram-{role}" if image == "psk-datagram" else role)


def group_of(image):
    if image.startswith("kem-"):
        return "MLKEM768"
    return "X25519MLKEM768" if image in HYBRIDS else "X25519"


def pki_of(image):
    return PKI.get(image, FIRMWARE / "pki")


def build(image, programs, is_small, workspace=FIRMWARE, opt_level=None, **variables):
    """Builds programs of an image, with environment variables that they read."""
    # build-std is an unstable option, which RUSTC_BOOTSTRAP allows on a stable compiler.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1", "RUSTC": "/usr/bin/rustc", "CARGO_TARGET_DIR": str(TARGET)}
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"]:
        environment.pop(name, None)
    command = ["/usr/bin/cargo", "build", "--release", "--locked", "--quiet", "--features", FEATURES.get(image, image),
               *(word for path in programs for word in ("--bin", path.name)), *(SMALL if is_small else [])]
    if opt_level is not None:
        command += ["--config", f"profile.release.opt-level={json.dumps(opt_level)}"]
    subprocess.run(command, cwd=workspace, env=environment | variables, check=True)


def flash(program):
    """The size of .text and .rodata."""
    return sum(size for _, size in map(sizes.sections(program).get, sizes.FLASH))


def to_pem(der, pem, label="CERTIFICATE"):
    """Writes a file in DER as PEM; returns where."""
    lines = textwrap.wrap(base64.b64encode(der.read_bytes()).decode(), 64)
    pem.write_text("\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]))
    return pem


def openssl_server(image, folder, times=1):
    """Returns what s_server knows of the client, or of itself; it sends the intermediate certificate so many times."""
    if image == "psk":
        return PSK
    pki = pki_of(image)
    chain = folder / "openssl-chain.pem"
    chain.write_text(times * to_pem(pki / "between.der", folder / "between.pem").read_text())
    return ["-cert", pki / "server.der", "-certform", "DER", "-key", pki / "server.key.der", "-keyform", "DER",
            "-cert_chain", chain]


def connect(port):
    """Runs a client alone whose UART is a connection to this port; returns its exit code."""
    # Without a delay, since what waits to be sent is lost when the emulator ends.
    serial = ["-serial", f"tcp:127.0.0.1:{port},nodelay=on"]
    return subprocess.run([*QEMU, *serial, "-kernel", RELEASE / "client"], capture_output=True, timeout=60).returncode
