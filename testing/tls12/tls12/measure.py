"""Measures each arm, next to OpenSSL and wolfSSL: bytes by message and layer, over links of three MTUs. Needs root.

testing/tls12/run -m tls12.measure [--json FILE] [--runs 10] [--mtu 1500,576,127] [--keys rsa2048,rsa4096,p256]
testing/tls12/run -m tls12.measure --show FILE      the tables of an earlier run; measures nothing
"""

import argparse
import datetime
import json
import os
import platform
import ssl
import subprocess
import sys
import tempfile

import cryptography

from . import pki
from .arms import ARMS, VANILLA
from .lab import cells, ends, report
from .lab.network import Network, Unavailable

MTUS = (1500, 576, 127)
# As the paper has it, a server's RSA-4096 meets a client's RSA-2048.
KINDS = {pki.RSA_2048: (pki.RSA_2048,) * 2, pki.RSA_4096: (pki.RSA_4096, pki.RSA_2048), pki.P256: (pki.P256,) * 2}
OPENSSL_WAYS, WOLFSSL_WAYS = ("full", "session-id", "tickets"), ("full", "session-id")


def main() -> int:
    options = parse()
    if options.show:
        return show(options.show)
    try:
        result = measure(options)
    except Unavailable as reason:
        print(f"tls12: nothing was measured: {reason}", file=sys.stderr)
        return 2
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(report.json_text(result))
    print(report.text(result))
    return 0


def show(name: str) -> int:
    try:
        with open(name, encoding="utf-8") as file:
            recorded = json.load(file)
    except (OSError, ValueError) as error:
        print(f"tls12: {name} can't be read: {error}", file=sys.stderr)
        return 2
    if not isinstance(recorded, dict) or recorded.get("experiment") != "tls12":
        print(f"tls12: {name} is of another experiment: --show takes what --json wrote", file=sys.stderr)
        return 2
    print(report.text(recorded))
    return 0


def parse():
    parser = argparse.ArgumentParser(prog="tls12.measure", description="Cached handshakes of TLS 1.2, measured.")
    parser.add_argument("--json", metavar="FILE", help="write all samples there")
    parser.add_argument("--show", metavar="FILE", help="print the tables of such a file, and measure nothing")
    parser.add_argument("--runs", type=int, default=10, help="repeated handshakes a cell (10)")
    parser.add_argument("--mtu", type=numbers, default=list(MTUS), help="a list with commas (1500,576,127)")
    parser.add_argument("--keys", type=kinds, default=list(KINDS), help="a list with commas (rsa2048,rsa4096,p256)")
    options = parser.parse_args()
    if options.runs < 1 or min(options.mtu) < 68:
        parser.error("at least one run, and an MTU of at least 68, which is IPv4's")
    if options.json and not os.path.isdir(os.path.dirname(os.path.abspath(options.json))):
        parser.error(f"there is no directory for {options.json}")
    return options


def numbers(text: str) -> list:
    return [int(one) for one in text.split(",")]


def kinds(text: str) -> list:
    chosen = text.split(",")
    if not set(chosen) <= set(KINDS):
        raise argparse.ArgumentTypeError(f"keys are {', '.join(KINDS)}")
    return chosen


def measure(options) -> dict:
    with Network(max(options.mtu)):
        pass  # Before keys are made: without namespaces nothing can be measured.
    wolfssl = ends.wolfssl_library()
    absent = [] if wolfssl else ["wolfSSL: no library here; scripts/setup-tests installs libwolfssl-dev"]
    result = {
        "experiment": "tls12",
        "date": datetime.date.today().isoformat(),
        "revision": revision(),
        "machine": machine(),
        "versions": versions(wolfssl),
        "link": "veth between two network namespaces, offloads off",
        "runs": options.runs,
        "absent": absent,
        "cells": [],
    }
    with tempfile.TemporaryDirectory() as directory:
        for kind in options.keys:
            keys = chains_of_three(kind, directory)
            for mtu in options.mtu:
                print(f"tls12: {kind}, MTU {mtu}", file=sys.stderr)
                result["cells"] += measure_rows(mtu, kind, rows(keys, bool(wolfssl)), options.runs)
        if pki.RSA_2048 in options.keys:
            keys = self_signed(pki.RSA_2048, directory)
            alone = [("tls12", VANILLA.name, ends.Tessera(keys, VANILLA))]
            result["cells"] += measure_rows(max(options.mtu), "rsa2048, self-signed", alone, options.runs)
    return result


def rows(keys: ends.Keys, with_wolfssl: bool) -> list:
    """(stack, row, ends); "each" means that each message is a write of its own."""
    found = [("tls12", arm.name, ends.Tessera(keys, arm)) for arm in ARMS]
    found += [("openssl", way, ends.OpenSsl(keys, way)) for way in OPENSSL_WAYS]
    found += [("tls12, each", arm.name, ends.Tessera(keys, arm, gathers=False)) for arm in ARMS]
    if with_wolfssl:
        found += [("wolfssl", way, ends.WolfSsl(keys, way)) for way in WOLFSSL_WAYS]
    return found


def measure_rows(mtu: int, kind: str, some: list, runs: int) -> list:
    with Network(mtu) as network:
        return [
            report.cell(stack, row, kind, mtu, *cells.measure(network, both_ends, runs))
            for stack, row, both_ends in some
        ]


def chains_of_three(kind: str, directory: str) -> ends.Keys:
    of_server, of_client = KINDS[kind]
    server = pki.make_identity(of_server, ends.SERVER_NAME, pki.SERVER)
    client = pki.make_identity(of_client, ends.CLIENT_NAME, pki.CLIENT)
    return ends.Keys(kind, server, client, directory)


def self_signed(kind: str, directory: str) -> ends.Keys:
    server = pki.make_self_signed(kind, ends.SERVER_NAME, pki.SERVER)
    client = pki.make_self_signed(kind, ends.CLIENT_NAME, pki.CLIENT)
    return ends.Keys(kind, server, client, directory)


# --- Where it was measured


def revision() -> str:
    here = os.path.dirname(os.path.abspath(__file__))

    def git(*arguments):
        return subprocess.run(["git", "-C", here, *arguments], capture_output=True, text=True, check=False)

    try:
        said = git("rev-parse", "HEAD")
        # What this program writes itself is no change.
        changed = git("diff", "--quiet", "HEAD", "--", ":/", ":!/docs").returncode != 0
    except FileNotFoundError:
        return "unknown"
    return said.stdout.strip() + (", with changes" if changed else "") if said.returncode == 0 else "unknown"


def machine() -> dict:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
    }


def versions(wolfssl) -> dict:
    found = {
        "python": platform.python_version(),
        "cryptography": cryptography.__version__,
        "openssl": ssl.OPENSSL_VERSION,
    }
    if wolfssl:
        found["wolfssl"] = wolfssl.wolfSSL_lib_version().decode()
    return found


if __name__ == "__main__":
    sys.exit(main())
