"""What is expected of a run, and how its outcome compares."""

import re
import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """Probes that fail, how, and why that is right. `sometimes`: how fast the script encrypts decides
    whether they fail at all."""

    probes: re.Pattern
    message: str
    reason: str
    sometimes: bool


@dataclass(frozen=True)
class Run:
    """One script with its arguments, against one server."""

    script: str
    server: str
    arguments: str
    command_line: list[str]
    deviations: list[Deviation]

    @classmethod
    def of(cls, entry, signatures):
        """Reads an entry of scripts.toml."""
        deviations = [
            Deviation(re.compile(noted["probes"]), noted["message"], noted["reason"],
                      noted.get("sometimes", False))
            for noted in entry.get("deviations", [])
        ]
        arguments = entry.get("arguments", "")
        command_line = [argument.format(signatures=signatures) for argument in shlex.split(arguments)]
        return cls(entry["script"], entry["server"], arguments, command_line, deviations)

    @property
    def title(self):
        return f"{self.script} ({self.server}) {self.arguments}".rstrip()

    def broken(self, why):
        return Result(self, 0, {}, [why])


@dataclass(frozen=True)
class Result:
    """How a run went: how many probes passed, how many deviated as noted, by reason, and what was
    not expected. A probe that is repeated counts once."""

    run: Run
    passed: int
    deviations: dict[str, int]
    unexpected: list[str]

    @property
    def deviated(self):
        return sum(self.deviations.values())


def judge(run, outcome):
    """Compares."""
    deviations, unexpected, happened = {}, [], set()
    failed = {failure.probe: failure for failure in outcome.failures}
    for failure in failed.values():
        noted = next((noted for noted in run.deviations if noted.probes.fullmatch(failure.probe)
                      and noted.message in failure.message), None)
        if noted:
            happened.add(noted)
            deviations[noted.reason] = deviations.get(noted.reason, 0) + 1
        else:
            unexpected.append(f"{failure.probe}: {failure.message}")
    for noted in run.deviations:
        if noted.sometimes:
            continue
        if noted not in happened:
            unexpected.append(f"nothing of this sort happened: {noted.probes.pattern}")
        passed = sorted(probe for probe in set(outcome.passed) if noted.probes.fullmatch(probe))
        unexpected.extend(f"passed, against the note: {probe}" for probe in passed)
    if not outcome.passed and not outcome.failures:
        unexpected.append("no probe ran")
    return Result(run, len(set(outcome.passed) - set(failed)), deviations, unexpected)
