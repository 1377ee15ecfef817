"""The ProVerif models as files: their variants, queries and digests.

A model is a ProVerif file with its libraries. A line that ends in `(*- a b *)` is absent from the
variants a and b; a line `(*+ a b: code *)` is code in them alone. `(*? NAME text *)` names the
query that follows.

An equivalence is a model with `choice[...]`, which ProVerif asks nothing else of. Its queries stand in the
variants `left` and `right`, which go together with each of the others.
"""

import hashlib
import re
from pathlib import Path

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ABSENT = re.compile(r"\(\*- ([^*]*)\*\)\s*$")
ONLY = re.compile(r"^\s*\(\*\+ ([^:]*): ((?:(?!\*\)).)*) \*\)\s*$")
SIDES = ["left", "right"]
# A name is followed by its query, by the next goal of the query before it, or by an equivalence.
QUERY = re.compile(
    r"^\s*\(\*\? (\S+) (.*?)\s*\*\)\n(?:\(\*\+ left right: )?"
    r"(query |  (?:inj-)?event\(|  attacker\(|letfun \w+\(.*choice\[)?",
    re.MULTILINE,
)


def load():
    with open(HERE / "expected.toml", "rb") as file:
        return tomllib.load(file)


def files_of(name, model):
    return [HERE / lib for lib in model.get("libs", ["lib/tls13.pvl"])] + [HERE / f"{name}.pv"]


def variant_of(text, *names):
    """The model's text in one of its variants, or in several; `base` has none of the marked changes."""
    lines = []
    for line in text.splitlines():
        absent = ABSENT.search(line)
        if absent and not set(names).isdisjoint(absent[1].split()):
            continue
        only = ONLY.match(line)
        lines.append(only[2] if only and not set(names).isdisjoint(only[1].split()) else line)
    return "\n".join(lines) + "\n"


def marked_variants(text):
    marks = [m[1] for m in map(ABSENT.search, text.splitlines()) if m]
    marks += [m[1] for m in map(ONLY.match, text.splitlines()) if m]
    return {name for mark in marks for name in mark.split()}


def queries_of(name, model):
    """(name, text) of every query, in ProVerif's order."""
    texts = [path.read_text() for path in files_of(name, model)]
    return [(query, about) for text in texts for query, about, _ in QUERY.findall(text)]


def passes_of(name, model):
    """What ProVerif is asked in each of its runs: (further marks, names of queries). One, or one of two and two sides."""
    texts = [path.read_text() for path in files_of(name, model)]
    found = [(query, "choice" in follows) for text in texts for query, _, follows in QUERY.findall(text)]
    if not any(equivalence for _, equivalence in found):
        return [([], [query for query, _ in found])]
    gates = [query for query, equivalence in found if not equivalence]
    return [([], [q for q, equivalence in found if equivalence]), *(([side], gates) for side in SIDES)]


def digest(paths):
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.read_bytes())
    return whole.hexdigest()


def letters(expected, names):
    """A row such as "rr tf" as a dictionary by query; None if it is not one letter for each."""
    flat = "".join(expected.split())
    return dict(zip(names, flat)) if len(flat) == len(names) else None
