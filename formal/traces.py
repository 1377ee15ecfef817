"""The attack that ProVerif found, as a person reads it.

ProVerif writes each message out in full. Here a term that stands in several places has a name, what was
received is what was sent, and each step says in which run of which process it happens. ProVerif doesn't
name processes; the name is that of the process in the model that has such a step.
"""

import re
from collections import defaultdict

BEGIN = "set traceDisplay = long."
STEP = re.compile(r"^(new|event|insert|in|out|get)\b ?(.*?)( at \{(\d+)\})?( in copy ([^()]*?))?( \(goal\))?$")
STEP_IN_TEXT = re.compile(r"\b(?:(new|event|insert|get)\s+([\w']+)|(in|out)\s*\()")
TOKEN = re.compile(r"\s*(choice(?=\[)|[^\s()\[\],=]+|[()\[\],=])")
# What a term that stands in several places is called, by its function; "" is a tuple.
CALLED = {"": "message", "aenc": "sealed", "hmac": "mac", "exp": "share", "sign": "signature"}
CALLED |= dict.fromkeys(["hkdf_extract", "hkdf_expand", "traffic", "exporter"], "key")


def block_of(output, number):
    """ProVerif's lines on its nth query from the beginning of the trace to the result; None without a trace."""
    lines = output.splitlines()
    results = [
        n for n, line in enumerate(lines) if line.startswith("RESULT ") and not line.startswith("RESULT (")
    ]
    end = results[number]
    begin = results[number - 1] + 1 if number else 0
    starts = [n for n in range(begin, end) if lines[n].strip() == BEGIN]
    if not starts or "A trace has been found" not in "\n".join(lines[starts[0] : end]):
        return None
    return [line for line in lines[starts[0] + 1 : end + 1] if line.strip()]


def rendered(block, text):
    """The lines of a trace; `text` is the model's, from which the names of its processes are."""
    steps, rest = steps_of(block)
    name_runs(steps, processes_of(text))
    names = names_of([term for step in steps for term in step["terms"]])
    defined, lines = set(), []
    for number, step in enumerate(joined(steps), 1):
        shown = ", ".join(show(term, names) for term in step["terms"])
        goal = "   <-- here" if step["goal"] else ""
        lines.append(f"{number:3}. {step['run']:12} {step['verb']} {shown}{goal}")
        for term in step["terms"]:
            lines += definitions(term, names, defined)
    runs = {step["copy"]: step["run"] for step in steps}
    return [*lines, "", *(closing(line, names, runs) for line in rest)]


# Steps: what is done, with which terms, in which copy of which process.


def steps_of(block):
    steps, rest, known = [], [], {}
    for line in block:
        found = STEP.match(line)
        if not found:
            rest.append(line)
            continue
        verb, what, copy = found[1], found[2], found[6] or ""
        if verb == "new":
            base, _, created = what.partition(":")
            terms, base = [leaf(created.split(" creating ")[-1])], base.strip()
        else:
            message, _, bound = what.partition(" with ")
            known |= bindings(bound, known)
            terms, base = [filled(term, known) for term in parsed(channel_out(verb, message))], ""
        steps.append({"verb": verb, "terms": terms, "copy": copy, "base": base, "goal": bool(found[7])})
    return steps, rest


def channel_out(verb, message):
    """`in` and `out` name a channel first: `(c, M)`."""
    if verb in ("in", "out") and message.startswith("("):
        message = message[1:-1].partition(",")[2]
    return message


def bindings(text, known):
    """`~M = t, f(~M_1) = u` as a dictionary: what the attacker has, or computes, and what that is."""
    tokens, bound = TOKEN.findall(text), {}
    while tokens:
        computed = filled(term_of(tokens), known)
        tokens[:1] = []
        bound[computed] = term_of(tokens)
        tokens[:1] = []
    return bound


# Terms: (head, arguments, bracket); a leaf has no arguments.


def leaf(name):
    return (name.strip(), (), "(")


def parsed(text):
    tokens, terms = TOKEN.findall(text), []
    while tokens:
        terms.append(term_of(tokens))
        tokens[:1] = []
    return terms


def term_of(tokens):
    head = "" if tokens[0] == "(" else tokens.pop(0)
    if not tokens or tokens[0] not in ("(", "["):
        return leaf(head)
    bracket, arguments = tokens.pop(0), []
    while tokens and tokens[0] not in (")", "]"):
        arguments.append(term_of(tokens))
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    tokens[:1] = []
    return (head, tuple(arguments), bracket)


def filled(term, known):
    head, arguments, bracket = term
    term = (head, tuple(filled(argument, known) for argument in arguments), bracket)
    return known.get(term, term)


def show(term, names, whole=False):
    head, arguments, bracket = term
    if term in names and not whole:
        return names[term]
    if not arguments:
        return head
    inside = ", ".join(show(argument, names) for argument in arguments)
    return f"{head}{bracket}{inside}{')' if bracket == '(' else ']'}"


def names_of(terms):
    """Names for the long terms that stand in several places; events are no terms."""
    places = defaultdict(set)

    def visit(term, place):
        if term[1]:
            places[term].add(place)
            for argument in term[1]:
                visit(argument, term)

    for number, term in enumerate(terms):
        visit(term, number)
    names, counts = {}, defaultdict(int)
    for term, where in places.items():
        kind = CALLED.get(term[0])
        if kind and len(where) > 1 and len(show(term, {})) > 20:
            counts[kind] += 1
            names[term] = f"{kind}{counts[kind]}"
    return names


def definitions(term, names, defined):
    """The names that a term is the first to use, what stands inside first."""
    lines = []
    for argument in term[1]:
        lines += definitions(argument, names, defined)
    if term in names and term not in defined:
        defined.add(term)
        lines.append(f"{'':18}{names[term]} = {show(term, names, whole=True)}")
    return lines


# Runs: a copy of a process, and how often there was another one before it.


def processes_of(text):
    """The steps of each process of a model, in the order of its text; `set-up` is the main one."""
    text = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
    parts = re.split(r"^(let [A-Z]\w*|process\b|letfun|event|query|fun|table)", text, flags=re.MULTILINE)
    return {
        "set-up" if name == "process" else name.split()[1]: [
            feature(verb or channel, word) for verb, word, channel in STEP_IN_TEXT.findall(body)
        ]
        for name, body in zip(parts[1::2], parts[2::2])
        if name == "process" or name.startswith("let ")
    }


def feature(verb, word):
    """A step as it is compared: what is sent can be anything, a name may have got a number."""
    return (verb, "" if verb in ("in", "out") else re.sub(r"_\d+$", "", word))


def name_runs(steps, processes):
    """Gives each step its run: of the process that explains most of what comes next in this copy."""
    by_copy, runs = defaultdict(list), defaultdict(list)
    for step in steps:
        by_copy[step["copy"]].append(step)
    for own in by_copy.values():
        rest, role = own, None
        while rest:
            best = max(processes, key=lambda name: explained(rest, processes[name]))
            count, _ = explained(rest, processes[best])
            # What is only received and sent would fit every process.
            if all(step["verb"] in ("in", "out") for step in rest[:count]):
                count = 1
            else:
                role = best
            for step in rest[:count]:
                step["role"] = role
            rest = rest[count:]
        known = next((step["role"] for step in own if step["role"]), "set-up")
        for step in own:
            step["role"] = step["role"] or known
    for step in steps:
        copies = runs[step["role"]]
        if step["copy"] not in copies:
            copies.append(step["copy"])
        step["run"] = f"{step['role']} {copies.index(step['copy']) + 1}"


def explained(steps, body):
    """How many of the steps stand in this process, in this order; then, how near to its beginning."""
    first, at = len(body), 0
    for count, step in enumerate(steps):
        wanted = feature(step["verb"], step["base"] or step["terms"][0][0])
        if wanted not in body[at:]:
            return count, -first
        at = body.index(wanted, at) + 1
        first = at if count == 0 else first
    return len(steps), -first


def joined(steps):
    """What one run makes at once is one step."""
    lines = []
    for step in steps:
        if lines and step["verb"] == "new" and (lines[-1]["verb"], lines[-1]["run"]) == ("new", step["run"]):
            lines[-1]["terms"] = [*lines[-1]["terms"], *step["terms"]]
        else:
            lines.append(dict(step))
    return lines


def closing(line, names, runs):
    """ProVerif's words at the end, with the names of terms and runs."""
    line = re.sub(r" at \{\d+\}", "", line)
    line = re.sub(r"in copy ([^().]*)", lambda m: f"in {runs.get(m[1], m[0])}", line)
    found = re.match(r"The (event|attacker has the message) (.*?)( is executed in .*| in phase \d+\.|\.)$", line)
    if not found:
        return line
    known = [show(term, names) for term in parsed(found[2])]
    # What the attacker has to compute is another word for the message behind the "=".
    return f"The {found[1]} {known[-1]}{found[3]}"
