"""What `expected.toml` and the models must be like, so that no property holds for nothing.

Each model reaches its gates, has a mutant, and has no property that can't fail; each mutant breaks
something that holds without it; marks and names of queries are what they look like.
"""

import re

from models import (
    ABSENT,
    HERE,
    ONLY,
    QUERY,
    SIDES,
    files_of,
    letters,
    marked_variants,
    queries_of,
    variant_of,
)

WITHOUT_COMMENTS = re.compile(r"\(\*.*?\*\)", re.DOTALL)
QUERIES = re.compile(r"^query .*?\.\s*$", re.DOTALL | re.MULTILINE)


def check(expected):
    """All errors, as lines."""
    errors = []
    for name, model in expected.items():
        missing = [path for path in files_of(name, model) if not path.is_file()]
        errors += [f"{name}: there is no {path.relative_to(HERE)}" for path in missing]
        if not missing:
            texts = [path.read_text() for path in files_of(name, model)]
            errors += [f"{name}: {error}" for text in texts for error in in_text(text)]
            errors += [f"{name}{error}" for error in in_model(queries_of(name, model), model, texts)]
    files = {path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.glob("*/*.pv")}
    return errors + [f"{name}: no expected verdicts" for name in sorted(files - set(expected))]


def in_text(text):
    """A mark that is not read as one would change nothing, and a query without a name shifts the others."""
    for line in text.splitlines():
        if ("(*+" in line and not ONLY.match(line)) or ("(*-" in line and not ABSENT.search(line)):
            yield f"a mark that is none: {line.strip()}"
    for query, _, follows in QUERY.findall(text):
        if not follows:
            yield f"{query} has no query right after its name"
    names, side = QUERY.findall(text), text
    if "choice[" in text:
        side = variant_of(text, SIDES[0])
        names = [name for name in names if "choice[" not in name[2]]
        if len(names) + 1 != len(QUERY.findall(text)) or "choice[" in side:
            yield "an equivalence without a name, or with two, or one that its sides have as well"
    if len(names) != sum(map(goals, QUERIES.findall(WITHOUT_COMMENTS.sub("", side)))):
        yield "a query without a name"


def goals(query):
    """How many things a query asks: they stand after the types of its variables, with ";" between them."""
    types, *rest = query.split(";")
    return len(rest) if rest and "(" not in types else len(rest) + 1


def in_model(queries, model, texts):
    names = [query for query, _ in queries]
    if len(set(names)) != len(names):
        yield f": two queries of one name in {names}"
        return
    rows = {variant: letters(row["verdicts"], names) for variant, row in model["variants"].items()}
    for variant, row in rows.items():
        if row is None or any(row[n] not in ("r-" if n.startswith("G") else "tf") for n in names):
            yield f":{variant}: r or - for each gate and t or f for each property of {names}"
            return
    if "base" not in rows:
        yield ": no base"
        return
    marked = set().union(*map(marked_variants, texts))
    if any("choice[" in text for text in texts):
        marked -= set(SIDES)
    unknown, unlisted = set(rows) - marked - {"base"}, marked - set(rows)
    if unknown or unlisted:
        yield f": not in the files {sorted(unknown)}, not expected {sorted(unlisted)}"
    yield from reachability(names, rows)
    yield from mutants(names, rows, model)


def reachability(names, rows):
    gates = [name for name in names if name.startswith("G")]
    if not gates:
        yield ": no reachability query"
    for gate in gates:
        if rows["base"][gate] != "r":
            yield f": {gate} is not reached in base"


def mutants(names, rows, model):
    properties = [name for name in names if not name.startswith("G")]
    marked = {v for v in rows if model["variants"][v].get("mutant")}
    if not marked:
        yield ": no mutant"
    for variant in sorted(marked):
        if not any(rows["base"][p] == "t" and rows[variant][p] == "f" for p in properties):
            yield f":{variant}: a mutant that breaks nothing"
    excused = model.get("constant", [])
    for name in properties:
        seen = {row[name] for row in rows.values()}
        if seen == {"t"}:
            yield f": {name} holds in all variants"
        elif seen == {"f"} and name not in excused:
            yield f": {name} fails in all variants, and is not listed as constant"
        elif name in excused and seen != {"f"}:
            yield f": {name} is listed as constant, and is not"
