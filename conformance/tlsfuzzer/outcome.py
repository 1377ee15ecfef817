"""What one of tlsfuzzer's scripts prints about each of its probes."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """A probe that didn't go as the script expects."""

    probe: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """The probes of a run, each as often as it was repeated."""

    passed: list[str]
    failures: list[Failure]


class Unreadable(Exception):
    """The script did not run to its end, or speaks in another way than this module knows."""


def read(output):
    """Reads the whole output of a script that was given no -x."""
    body, end, summary = output.partition("\nTest end\n")
    if not end:
        raise Unreadable("the script broke off:\n" + output[-2000:])
    passed, failures, probe, error = [], [], None, None
    for line in [*body.splitlines(), "..."]:
        if line.endswith("..."):
            if error is not None:
                failures.append(Failure(probe, _exception(error)))
            probe, error = REPEATED.sub(r"\1", line.removesuffix("...").rstrip()), None
        elif error is not None:
            error.append(line)
        elif line == "OK":
            passed.append(probe)
        elif line == "Error while processing":
            error = []
    totals = {name: int(count) for name, count in TOTAL.findall(summary)}
    if (len(passed), len(failures)) != (totals.get("PASS"), totals.get("FAIL")):
        raise Unreadable(f"{len(passed)} passed, {len(failures)} failed; the script reports {totals}")
    return Outcome(passed, failures)


def _exception(traceback):
    """The last exception of a traceback, in one line: it ends with an empty one."""
    starts = [index for index, line in enumerate(traceback) if EXCEPTION.match(line)]
    last = traceback[starts[-1] if starts else 0 :]
    end = last.index("") if "" in last else len(last)
    return " ".join(line.strip() for line in last[:end])


# Scripts that repeat their probes say '"name" repeat 3...'.
REPEATED = re.compile(r'"(.*)" repeat \d+')
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Alert)\b")
TOTAL = re.compile(r"^(\w+): (\d+)$", re.MULTILINE)
