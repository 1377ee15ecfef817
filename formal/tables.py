"""The paper's Tables 2 and 3 beside the verdicts of the models."""

OPTIONS = {
    "a": ("full handshake", "paper/a-full"),
    "b": ("PSK only", "paper/b-psk-ke"),
    "c": ("PSK-(EC)DHE", "paper/c-psk-dhe-ke"),
    "d": ("0-RTT", "paper/d-0rtt"),
    "e": ("0-RTT FS", "paper/e-0rtt-fs"),
}

# Table 2 lists the queries that fail. Q1 to Q3 are correspondences, Q4 to Q6 secrecy of App Data.
TABLE_2 = {"a": {"Q1"}, "b": {"Q4", "Q6"}, "c": {"Q1"}, "d": {"Q1", "Q4"}, "e": set()}
QUERIES = ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]

# Table 3. The text has the crosses alone: one for forward secrecy (PSK only, by section 4.1.2; it calls
# that of 0-RTT limited), and replay for (a) to (d).
TABLE_3 = {
    "forward secrecy": {"b": "x", "d": "limited"},
    "replay": {"a": "x signalling", "b": "x signalling", "c": "x signalling", "d": "x signalling, data"},
}


def verdict(results, option, query, variant="base"):
    """A verdict, or "?" if the model has not been run."""
    model = results.get(OPTIONS[option][1], {"variants": {}})
    return model["variants"].get(variant, {"verdicts": {}})["verdicts"].get(query, "?")


def holds(results, option, queries, variant="base"):
    found = {verdict(results, option, query, variant) for query in queries}
    return "?" if "?" in found else "yes" if found == {"t"} else "no"


def both(results):
    return [*table_2(results), "", *table_3(results)]


def table_2(results):
    lines = [
        "Table 2: t holds, f fails, in the order Q1 Q2 Q3 Q4 Q5 Q6. Beside it what it does not separate:",
        "Q1 not injective, Q1 accepted at Finished, Q4 Q5 Q6 without compromise, early data (injective).",
        f"  {'option':38} {'paper':12} {'here':12}   {'Q1n':4} {'Q1F':4} {'Q4-6s':6} early data",
    ]
    rows = [(option, name, "base") for option, (name, _) in OPTIONS.items()]
    rows += [
        ("d", "0-RTT, tickets used once", "single-use"),
        ("e", "Alg. 7, ticket key leaks too", "key-leaks"),
        ("e", "Alg. 7, cache lost, other site", "cache-lost"),
        ("e", "key taken, as here (Q4: accepted)", "taken"),
    ]
    for option, name, variant in rows:
        paper = ["f" if query in TABLE_2[option] else "t" for query in QUERIES]
        printed = " ".join(paper) if variant == "base" else "-"
        ours = [verdict(results, option, query, variant) for query in QUERIES]
        if variant == "taken":
            ours[3] = verdict(results, option, "Q4a", variant)
        early = verdict(results, option, "E1", variant) if option in "de" else "-"
        without = "".join(verdict(results, option, q, variant) for q in ("Q4s", "Q5s", "Q6s"))
        lines.append(
            f"  ({option}) {name:34} {printed:12} {' '.join(ours):12}   "
            f"{verdict(results, option, 'Q1n', variant):4} "
            f"{verdict(results, option, 'Q1F', variant):4} {without:6} {early}"
        )
    return lines


def table_3(results):
    """Requirement by requirement, each by the queries that speak of it alone."""
    lines = ["Table 3: paper / here", f"  {'':22}" + "".join(f"{f'({o})':30}" for o in OPTIONS)]
    secret = ["Q4s", "Q5s", "Q6s"]
    rows = {
        "confidentiality": lambda o: holds(results, o, secret),
        "integrity": lambda o: holds(results, o, ["Q1F", "Q2", "Q3"]),
        "mutual authentication": lambda o: holds(results, o, ["Q2", "Q3"]),
        "key exchange": lambda o: holds(results, o, ["Q2", "Q3"]),
        "forward secrecy": lambda o: forward_secrecy(results, o),
        "replay": lambda o: replay(results, o),
    }
    for requirement, ours in rows.items():
        cells = []
        for option in OPTIONS:
            paper = TABLE_3.get(requirement, {}).get(option, "yes")
            cells.append(f"{paper} / {ours(option)}")
        lines.append(f"  {requirement:22}" + "".join(f"{cell:30}" for cell in cells))
    lines += [
        "  Paper: the crosses of its table, and the rest as yes; 'limited' is from its section 4.1.2.",
        "  (a)-(c) 'no data': a ClientHello can be repeated, but no session and no data follow.",
        "  (e) with the ticket key deleted when it is taken, as this project does; Algorithm 7 as printed:",
        f"      forward secrecy {holds(results, 'e', ['Q4a'], 'key-leaks')} if the ticket key leaks too, "
        f"replay {holds(results, 'e', ['E1'], 'cache-lost')} if the cache is lost.",
    ]
    return lines


def forward_secrecy(results, option):
    if option == "e":
        return holds(results, "e", ["Q4a", "Q5", "Q6"], "taken")
    early, rest = holds(results, option, ["Q4"]), holds(results, option, ["Q5", "Q6"])
    return early if early == rest else f"early {early}, rest {rest}"


def replay(results, option):
    if option == "e":
        return holds(results, "e", ["E1", "Q1F"], "taken")
    if option == "d":
        return holds(results, "d", ["E1"])
    finished = holds(results, option, ["Q1F"])
    return "no data" if finished == "yes" else finished
