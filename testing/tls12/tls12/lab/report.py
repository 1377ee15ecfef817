"""A result as JSON, and the tables for people, which are a view of that JSON."""

import json

from .paper import comparison

# What a row's bytes are compared with: the full handshake of the same stack.
FULL = {"tls12": "vanilla", "tls12, each": "vanilla", "openssl": "full", "wolfssl": "full"}
SAMPLES = ("tls", "handshake", "ip_tcp", "packets")


def cell(stack: str, row: str, keys: str, mtu: int, first, runs: list, discarded: int) -> dict:
    """The first connection, and the samples of those after it. Sizes by message are (least, most)."""
    names = {name: None for run in runs for name in run.messages}
    return {
        "stack": stack,
        "row": row,
        "keys": keys,
        "mtu": mtu,
        "repeated_as": runs[0].how,
        "discarded": discarded,
        "first": {"messages": first.messages, **{name: getattr(first, name) for name in SAMPLES}},
        "messages": {name: _span(run.messages.get(name, 0) for run in runs) for name in names},
        **{name: [getattr(run, name) for run in runs] for name in SAMPLES},
    }


def _span(values) -> list:
    values = list(values)
    return [min(values), max(values)]


def json_text(result: dict) -> str:
    """One line a cell, so that a diff shows which cells have changed."""
    rest = {name: value for name, value in result.items() if name != "cells"}
    head = json.dumps({**rest, "paper": comparison(result["cells"])}, indent=2)
    lines = ",\n".join("    " + json.dumps(one) for one in result["cells"])
    return head[:-2] + ',\n  "cells": [\n' + lines + "\n  ]\n}\n"


# --- For people


def text(result: dict) -> str:
    found = result["cells"]
    parts = [_head(result)]
    for keys in dict.fromkeys(one["keys"] for one in found):
        parts.append(_table([one for one in found if one["keys"] == keys]))
    parts += [_discarded(found), _paper(comparison(found))]
    return "\n".join(parts)


def _head(result: dict) -> str:
    machine, versions = result["machine"], result["versions"]
    lines = [
        f"TLS 1.2, both ends with certificates, {result['runs']} repeated handshakes a cell; {result['link']}.",
        f"{result['date']}, revision {result['revision']}; {machine['cpu']}, {machine['cores']} processors;"
        f" {', '.join(f'{name} {version}' for name, version in versions.items())}.",
        "A flight leaves in one write; in rows that say each, every message is a write of its own.",
        "Percentages are against the full handshake of the same stack, in the mean; a..b is the least and the most.",
        *result["absent"],
    ]
    return "\n".join(lines) + "\n"


def _discarded(found: list) -> str:
    number = sum(one["discarded"] for one in found)
    return f"Not counted: {number} connections in which a timer of TCP sent bytes twice.\n"


def _table(some: list) -> str:
    """A row: bytes of TLS and of the handshake, then IP + TCP + TLS for each MTU, with the ratio to the full one."""
    mtus = list(dict.fromkeys(one["mtu"] for one in some))
    by_row = {}
    for one in some:
        by_row.setdefault((one["stack"], one["row"]), {})[one["mtu"]] = one
    head = f"{some[0]['keys']:<26}{'TLS':>7}{'handshake':>11}" + "".join(f"{f'IP+TCP, MTU {mtu}':>24}" for mtu in mtus)
    lines = [head]
    for (stack, row), of_mtu in by_row.items():
        one = of_mtu[mtus[0]]
        line = f"{stack + ' ' + row:<26}{mean(one['tls']):>7.0f}{mean(one['handshake']):>11.0f}"
        for mtu in mtus:
            full = by_row[stack, FULL[stack]][mtu]
            line += f"{_ip_tcp(of_mtu[mtu], full):>24}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _ip_tcp(one: dict, full: dict) -> str:
    least, most = min(one["ip_tcp"]), max(one["ip_tcp"])
    size = f"{least}" if least == most else f"{least}..{most}"
    return size if one is full else f"{size} {percent(mean(one['ip_tcp']), mean(full['ip_tcp']))}"


def _paper(rows: list) -> str:
    lines = [f"{'':<5}{'next to the paper':<58}{'paper':>24}{'here':>30}"]
    lines += [f"{row['id']:<5}{row['what']:<58}{row['paper']:>24}{row['here']:>30}" for row in rows]
    return "\n".join(lines)


def mean(values: list) -> float:
    return sum(values) / len(values)


def percent(value: float, full: float) -> str:
    return f"{100 * (value / full - 1):+.1f}%"
