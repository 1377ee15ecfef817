#!/usr/bin/env python3
"""formal/run fails when it has to. ProVerif itself is not needed: a script stands in for it."""

import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rules  # noqa: E402

# What ProVerif says of fs/kci in the variant nothing-stolen: "r ttt".
VERDICTS = ["RESULT not e is false.", *["RESULT p is true."] * 3]


def formal_run():
    loader = importlib.machinery.SourceFileLoader("formal_run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("formal_run", loader))
    loader.exec_module(module)
    return module


class Program(unittest.TestCase):
    """The whole program, with another `proverif` in the PATH, or none."""

    def run_with(self, script, *arguments, formal=HERE):
        with tempfile.TemporaryDirectory() as directory:
            if script is not None:
                path = Path(directory, "proverif")
                path.write_text("#!/bin/sh\n" + script)
                path.chmod(0o755)
            command = [sys.executable, formal / "run", *(arguments or ["fs/kci:nothing-stolen"])]
            return subprocess.run(
                command, env={**os.environ, "PATH": directory}, capture_output=True, text=True
            )


class Runs(Program):
    """Verdicts."""

    def says(self, lines):
        return "".join(f"echo '{line}'\n" for line in lines)

    def test_all_verdicts_as_expected_are_a_success(self):
        done = self.run_with(self.says(VERDICTS))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_missing_proverif_is_a_missing_input(self):
        done = self.run_with(None)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not in the PATH", done.stderr)

    def test_each_other_verdict_is_an_error(self):
        for number, line in enumerate(VERDICTS):
            for verdict in ["is true.", "is false.", "cannot be proved."]:
                said = [*VERDICTS]
                said[number] = re.sub(r"is (true|false)\.", verdict, line)
                if said != VERDICTS:
                    self.assertNotEqual(self.run_with(self.says(said)).returncode, 0, said)

    def test_missing_and_additional_verdicts_are_errors(self):
        for said in ([], VERDICTS[:-1], [*VERDICTS, VERDICTS[-1]]):
            self.assertNotEqual(self.run_with(self.says(said)).returncode, 0, said)

    def test_a_query_that_is_no_gate_is_an_error(self):
        said = ["RESULT event(a) ==> event(b) is false.", *VERDICTS[1:]]
        self.assertNotEqual(self.run_with(self.says(said)).returncode, 0)

    def test_a_proverif_that_fails_after_all_verdicts_is_an_error(self):
        self.assertNotEqual(self.run_with(self.says(VERDICTS) + "exit 2\n").returncode, 0)

    def test_an_unknown_model_or_variant_is_an_error(self):
        for name in ["fs/none", "fs/kci:none"]:
            self.assertNotEqual(self.run_with(self.says(VERDICTS), name).returncode, 0, name)

    def test_a_proverif_that_runs_too_long_is_an_error(self):
        module = formal_run()
        with tempfile.TemporaryDirectory() as directory:
            output = Path(directory, "output")
            module.CPU_SECONDS = 1
            endless = [sys.executable, "-c", "print('RESULT', flush=True)\nwhile True: pass"]
            self.assertFalse(module.run_proverif(endless, output)[2])
            module.WALL_SECONDS = 0.5
            idle = [sys.executable, "-c", "import time; time.sleep(60)"]
            self.assertFalse(module.run_proverif(idle, output)[2])


class Equivalences(Program):
    """A model of which ProVerif is asked an equivalence, and each of its sides the gates."""

    # ProVerif's last argument is the model; a side of it has no `choice`.
    side = "for model; do :; done\nif /bin/grep -q 'choice\\[' $model; then\n"
    reached = "else echo 'RESULT not e is false.'; echo 'RESULT not f is false.'; fi\n"

    def verdict_is(self, said, variant, reached=reached):
        script = self.side + "".join(f"echo '{line}'\n" for line in said) + reached
        return self.run_with(script, f"fs/unlinkability:{variant}").returncode == 0

    def test_it_holds_if_proverif_says_so(self):
        said = ["RESULT Observational equivalence is true."]
        self.assertTrue(self.verdict_is(said, "base"))
        self.assertFalse(self.verdict_is(said, "ids-count"))

    def test_it_fails_if_there_is_a_trace_and_is_open_if_there_is_none(self):
        said = ["A trace has been found.", "RESULT Observational equivalence cannot be proved."]
        self.assertTrue(self.verdict_is(said, "ids-count"))
        for variant in ["base", "ids-count"]:
            self.assertFalse(self.verdict_is(said[1:], variant))

    def test_both_sides_have_to_reach_the_gates(self):
        said = ["RESULT Observational equivalence is true."]
        right = "/bin/grep -q '= second' $model; then "
        differ = f"elif {right} echo 'RESULT not e is true.'; echo 'RESULT not f is false.'\n{self.reached}"
        self.assertFalse(self.verdict_is(said, "base", differ))
        self.assertFalse(self.verdict_is(said, "base", "else echo 'RESULT not e is false.'; fi\n"))


class Check(unittest.TestCase):
    """The recorded run, where something was changed after it."""

    def check(self, file=None, old="", new=""):
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory, "formal")
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("replication"))
            if file:
                text = Path(copy, file).read_text()
                self.assertIn(old, text)
                Path(copy, file).write_text(text.replace(old, new, 1))
            done = subprocess.run([sys.executable, copy / "run", "--check"], capture_output=True)
            return done.returncode

    def test_models_as_recorded_are_accepted(self):
        self.assertEqual(self.check(), 0)

    def test_a_change_of_models_expectations_or_record_is_an_error(self):
        changes = [
            ("fs/kci.pv", "(*", "( *"),
            ("lib/tls13.pvl", "Symbolic", "symbolic"),
            ("expected.toml", '"r ttt", note = "nothing stolen"', '"r ftt", note = "nothing stolen"'),
            ("expected.toml", 'note = "nothing stolen"', 'note = "something stolen"'),
            ("recorded.json", '"S1": "t"', '"S1": "f"'),
            ("recorded.txt", "fs/kci", "fs/cki"),
            ("traces/paper-d-0rtt-Q1.txt", "Server 2", "Server 1"),
            ("recorded.json", "EarlyAccepted(", "EarlyRefused("),
            ("recorded.json", "paper/d-0rtt:base Q1", "paper/d-0rtt:base Q1n"),
            ("recorded.json", "paper/d-0rtt:base Q1", "paper/d-0rtt:single-use Q1"),
        ]
        for change in changes:
            self.assertNotEqual(self.check(*change), 0, change)


class Options(unittest.TestCase):
    """What does not go together."""

    def test_a_check_neither_records_nor_traces(self):
        for others in [["--trace", "paper/d-0rtt", "Q1"], ["--record"], ["--record", "--trace", "paper/d-0rtt", "Q1"]]:
            done = subprocess.run(
                [sys.executable, HERE / "run", "--check", *others],
                env={**os.environ, "PATH": ""},
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 2, others)
            self.assertIn("--check runs nothing", done.stderr)


class Trace(Program):
    """An attack, as a person reads it: the recorded one of (d), which the other `proverif` finds again."""

    file = HERE / "traces" / "paper-d-0rtt-Q1.txt"
    recorded = json.loads((HERE / "recorded.json").read_text())["traces"]["paper/d-0rtt:base Q1"]

    def trace(self, block, query="Q1", *options, formal=HERE):
        """What `formal/run --trace` does if ProVerif prints this block on Q1, which three gates precede."""
        lines = ["RESULT not e is false."] * 3 + block + ["RESULT p is true."] * 13
        script = "/bin/cat <<'END'\n" + "\n".join(lines) + "\nEND\n"
        return self.run_with(script, *options, "--trace", "paper/d-0rtt", query, formal=formal)

    def test_one_flight_is_sent_once_and_accepted_twice(self):
        def runs_with(event):
            return re.findall(rf"(\w+ \d+) +event {event}\((\w+)\)", self.file.read_text())

        ((client, sent),) = runs_with("S1")
        first, second = runs_with("E1")
        self.assertTrue(client.startswith("Client "))
        self.assertEqual({run.split()[0] for run, _ in (first, second)}, {"Server"})
        self.assertNotEqual(first, second)
        self.assertEqual({message for _, message in (first, second)}, {sent})

    def test_the_trace_that_proverif_finds_is_printed(self):
        done = self.trace(["  set traceDisplay = long.", *self.recorded["output"]])
        self.assertEqual(done.returncode, 0, done.stderr)
        # Its first lines name the version of ProVerif, which is another.
        steps = self.file.read_text().partition("\n\n")[2]
        self.assertTrue(done.stdout.endswith(steps), done.stdout)

    def test_without_proverif_the_recorded_trace_is_shown_of_what_has_one(self):
        for target in ["paper/d-0rtt", "paper/d-0rtt:base"]:
            done = self.run_with(None, "--trace", target, "Q1")
            self.assertEqual((done.returncode, done.stdout), (0, self.file.read_text()), done.stderr)
            self.assertIn("recorded earlier", done.stderr)
        for target, query in [("paper/d-0rtt", "Q2"), ("paper/d-0rtt:single-use", "Q1")]:
            done = self.run_with(None, "--trace", target, query)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("paper/d-0rtt:base Q1", done.stderr)
        # Nothing can be recorded, and nothing is shown of a model that is another now.
        self.assertEqual(self.run_with(None, "--record", "--trace", "paper/d-0rtt", "Q1").returncode, 2)
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory, "formal")
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("replication"))
            model = copy / "paper" / "d-0rtt.pv"
            model.write_text(model.read_text() + "\n")
            done = self.run_with(None, "--trace", "paper/d-0rtt", "Q1", formal=copy)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("changed since", done.stderr)

    def test_the_usage_says_what_a_trace_is_of(self):
        done = self.run_with(None, "--help")
        self.assertIn("--trace MODEL[:VARIANT] QUERY", " ".join(done.stdout.split()))
        for arguments in [["--trace", "paper/d-0rtt"], ["--trace", "paper/d-0rtt", "Q1", "fs/kci"]]:
            self.assertEqual(self.run_with(None, *arguments).returncode, 2, arguments)

    def test_what_holds_or_has_no_trace_or_is_unknown_is_an_error(self):
        found = ["  set traceDisplay = long.", *self.recorded["output"]]
        unfinished = [line for line in found if line != "A trace has been found."]
        for block, query, said in [
            (found, "Q2", "no attack"),
            (found, "Q9", "no query"),
            (["RESULT p is true."], "Q1", "no attack"),
            (["RESULT p cannot be proved."], "Q1", "no attack"),
            (["RESULT p is false."], "Q1", "no trace"),
            (unfinished, "Q1", "no trace"),
            ([], "Q1", "no attack"),
        ]:
            done = self.trace(block, query)
            self.assertNotEqual(done.returncode, 0, said)
            self.assertIn(said, done.stderr)

    def test_no_trace_is_recorded_of_models_that_break_the_rules(self):
        block = ["  set traceDisplay = long.", *self.recorded["output"]]
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory, "formal")
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("replication"))
            record, file = copy / "recorded.json", copy / self.file.relative_to(HERE)
            record.write_text(record.read_text().replace("EarlyAccepted(", "EarlyRefused("))
            file.write_text("")
            before = record.read_text()
            Path(copy, "paper", "none.pv").write_text("")
            for options in [[], ["--record"]]:
                done = self.trace(block, "Q1", *options, formal=copy)
                self.assertNotEqual(done.returncode, 0, options)
                self.assertIn("paper/none: no expected verdicts\nnothing was run", done.stderr)
                self.assertEqual((done.stdout, record.read_text(), file.read_text()), ("", before, ""))
            # The trace is recorded where no rule is broken.
            Path(copy, "paper", "none.pv").unlink()
            done = self.trace(block, "Q1", "--record", formal=copy)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotEqual(record.read_text(), before)
            self.assertEqual(file.read_text(), done.stdout)

    def test_what_was_received_is_shown_as_what_was_sent(self):
        block = [
            "new n: bitstring creating n_1 at {1}",
            "out(c, (~M,~M_1)) with ~M = n_1, ~M_1 = hmac(key_1,(n_1,n_1)) at {2}",
            "in(c, f(~M_1,a_2)) with f(~M_1,a_2) = f(hmac(key_1,(n_1,n_1)),a_2) at {3} in copy a",
            "event Got(~M) at {4} in copy a (goal)",
            "The attacker has the message adec(k_1,~M) = d_2 in phase 1.",
        ]
        text = "let Server =\n  in(c, x: bitstring); event Got(x).\nprocess new n: bitstring; out(c, n); !Server\n"
        self.assertEqual(
            formal_run().traces.rendered(block, text),
            [
                "  1. set-up 1     new n_1",
                "  2. set-up 1     out (n_1, mac1)",
                "                  mac1 = hmac(key_1, (n_1, n_1))",
                "  3. Server 1     in f(mac1, a_2)",
                "  4. Server 1     event Got(n_1)   <-- here",
                "",
                "The attacker has the message d_2 in phase 1.",
            ],
        )


class Rules(unittest.TestCase):
    """Models that prove nothing are refused."""

    text = "(*? G1 reached *)\nquery a.\n(*? Q1 holds *)\nquery b.\nlet x = 0. (*- slip *)\n"

    def errors(self, base="rt", slip="rf", text=None, **model):
        text = text or self.text
        variants = {"base": {"verdicts": base}, "slip": {"verdicts": slip, "mutant": True}}
        model = {"variants": variants, **model}
        queries = [(name, "") for name, _, _ in rules.QUERY.findall(text)]
        return [*rules.in_text(text), *rules.in_model(queries, model, [text])]

    def test_a_model_with_gates_and_mutants_breaks_no_rule(self):
        self.assertEqual(self.errors(), [])

    def test_a_model_without_a_gate_is_an_error(self):
        text = self.text.replace("G1", "P1")
        self.assertTrue(self.errors("tt", "ff", text))
        self.assertTrue(self.errors("-t", "-f"))

    def test_a_model_without_a_mutant_that_flips_is_an_error(self):
        variants = {"base": {"verdicts": "rt"}, "slip": {"verdicts": "rf"}}
        self.assertTrue(self.errors(variants=variants))
        self.assertTrue(self.errors(slip="rt"))
        self.assertTrue(self.errors(base="rf", slip="rt"))

    def test_a_property_that_cannot_fail_is_an_error(self):
        text = self.text + "(*? Q2 also *)\nquery c.\n"
        self.assertTrue(self.errors("rtt", "rft", text))
        self.assertTrue(self.errors("rtt", "rft", text, constant=["Q2"]))
        self.assertTrue(self.errors("rtf", "rff", text))
        self.assertEqual(self.errors("rtf", "rff", text, constant=["Q2"]), [])

    def test_a_row_without_its_verdicts_is_an_error(self):
        for row in ["r?", "?t", "r", "rtt", "t" * 2, "r!"]:
            self.assertTrue(self.errors(row), row)

    def test_marks_and_names_that_do_not_fit_are_errors(self):
        for old, new in [
            ("(*- slip *)", ""),
            ("(*- slip *)", "(*- slip other *)"),
            ("(*- slip *)", "(*- slip *) let y = 0."),
            ("let x", "(*+ slip: let y = 0. *) let x"),
            ("(*? Q1 holds *)\n", ""),
            ("(*? Q1 holds *)\n", "(*? Q1 holds *)\n(* because *)\n"),
            ("Q1", "G1"),
        ]:
            self.assertTrue(self.errors(text=self.text.replace(old, new)), new)

    def test_each_goal_of_a_query_has_a_name(self):
        text = self.text.replace("query a.", "query x: t; event(a);").replace("query b.", "  event(b).")
        self.assertEqual(self.errors(text=text), [])
        for goal in ["event(b); event(d).", "event(b);\n  event(d)."]:
            self.assertTrue(self.errors(text=text.replace("event(b).", goal)), goal)

    def test_an_equivalence_has_a_name_and_two_sides_with_gates(self):
        text = (
            "(*? G1 reached *)\n(*+ left right: query event(a). *)\n(*? U1 same *)\n"
            "letfun one(a: t, b: t) = choice[a, b]. (*- left right *)\n"
            "(*+ left: letfun one(a: t, b: t) = a. *)\n(*+ right: letfun one(a: t, b: t) = b. *)\n"
            "let x = 0. (*- slip *)\n"
        )
        self.assertEqual(self.errors(text=text), [])
        for old, new in [
            (" (*- left right *)", ""),
            ("(*? U1 same *)\n", ""),
            ("(*? G1 reached *)\n", ""),
            ("(*+ left right: query event(a). *)\n", ""),
            ("(*- slip *)", ""),
        ]:
            self.assertIn(old, text)
            self.assertTrue(self.errors(text=text.replace(old, new)), old)


if __name__ == "__main__":
    unittest.main()
