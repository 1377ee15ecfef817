"""The results in docs/conformance.md."""

BEGIN = "<!-- tlsfuzzer: written by conformance/tlsfuzzer/run -->\n"
END = "<!-- tlsfuzzer: end -->\n"


def update(document, results, table):
    """Writes what stands between the two marks."""
    before, begin, rest = document.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{document}: the marks of tlsfuzzer's section are gone")
    document.write_text(f"{before}{begin}\n{_section(results, table)}\n{end}{after}")


def _section(results, table):
    probes = sum(result.passed for result in results)
    deviations = sum(result.deviated for result in results)
    scripts = {result.run.script for result in results}
    used = {reason for result in results for reason in result.deviations}
    lines = [
        f"Of {len(scripts) + len(table['not_applicable'])} scripts {len(scripts)} were run, in "
        f"{len(results)} runs: **{probes} probes** went as the scripts expect, {deviations} deviated for "
        "one of the reasons below, and none otherwise.",
        "",
        "| script | server | probes passed | deviations |",
        "|---|---|---:|---|",
        *(_row(result) for result in results if result.deviations),
        "",
        "Without deviations (script, server, probes passed): "
        + "; ".join(_whole(result) for result in results if not result.deviations) + ".",
        "",
        "| why probes deviate | |",
        "|---|---|",
        *(f"| {reason} | {' '.join(text.split())} |"
          for reason, text in table["reasons"].items() if reason in used),
        "",
        "| not run | why |",
        "|---|---|",
        *(f"| {script} | {why} |" for script, why in table["not_applicable"].items()),
    ]
    return "\n".join(lines) + "\n"


def _whole(result):
    return f"{result.run.script} {result.run.server} {result.passed}"


def _row(result):
    run = result.run
    deviations = ", ".join(f"{count} {reason}" for reason, count in sorted(result.deviations.items()))
    return f"| {run.script} | {run.server} | {result.passed} | {deviations} |"
