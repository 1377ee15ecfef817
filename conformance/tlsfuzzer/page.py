"""The section on tlsfuzzer in docs/conformance.md."""

BEGIN = "<!-- tlsfuzzer: written by conformance/tlsfuzzer/run --write -->"
END = "<!-- end of tlsfuzzer -->"


def update(document, results, table):
    """Writes the section between its two marks; adds it to a document that has none."""
    text = document.read_text() if document.exists() else "# Conformance\n"
    section = f"{BEGIN}\n{_section(results, table)}{END}\n"
    before, mark, rest = text.partition(BEGIN + "\n")
    if mark:
        text = before + section + rest.partition(END + "\n")[2]
    else:
        text = text.rstrip("\n") + "\n\n" + section
    document.parent.mkdir(exist_ok=True)
    document.write_text(text)


def _section(results, table):
    probes = sum(result.passed for result in results)
    deviations = sum(result.deviated for result in results)
    scripts = {result.run.script for result in results}
    used = sorted({reason for result in results for reason in result.deviations})
    lines = [
        "## tlsfuzzer",
        "",
        f"[tlsfuzzer](https://github.com/tlsfuzzer/tlsfuzzer) {table['revision']} against `tessera serve`: "
        f"{len(scripts)} scripts in {len(results)} runs. {probes} probes go as the scripts expect, "
        f"{deviations} deviate for one of the reasons below, none else.",
        "",
        "To run them: a checkout of tlsfuzzer, a Python with `tlslite-ng`, `kyber-py` and "
        "`dilithium-py`, then",
        "",
        "```sh",
        "make tlsfuzzer TLSFUZZER=path/to/tlsfuzzer PYTHON=path/to/python",
        "```",
        "",
        "What each script is run with and which of its probes deviate how stands in",
        "[scripts.toml](../conformance/tlsfuzzer/scripts.toml). A probe that fails without being noted "
        "there, or passes although it is, makes the run fail.",
        "",
        "| script | server | arguments | probes passed | deviations |",
        "|---|---|---|---:|---|",
        *map(_row, results),
        "",
        "The servers:",
        "",
        *(f"- {name}: `tessera serve {_shown(arguments)}`"
          for name, arguments in table["servers"].items()),
        "",
        "Not run:",
        "",
        *(f"- {script}: {reason}" for script, reason in table["not_applicable"].items()),
        "",
        "Why probes deviate:",
        "",
        *(f"- **{reason}**: {' '.join(table['reasons'][reason].split())}"
          for reason in used),
        "",
    ]
    return "\n".join(lines)


def _row(result):
    run = result.run
    arguments = f"`{' '.join(run.arguments)}`" if run.arguments else ""
    deviations = ", ".join(f"{count} {reason}" for reason, count in result.deviations.items())
    return f"| {run.script} | {run.server} | {arguments} | {result.passed} | {deviations} |"


def _shown(arguments):
    return " ".join(arguments)
