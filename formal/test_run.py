#!/usr/bin/env python3
"""formal/run fails when it has to. ProVerif itself is not needed: a script stands in for it."""

import importlib.machinery
import importlib.util
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


class Runs(unittest.TestCase):
    """The whole program, with another `proverif` in the PATH, or none."""

    def run_with(self, script, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            if script is not None:
                path = Path(directory, "proverif")
                path.write_text("#!/bin/sh\n" + script)
                path.chmod(0o755)
            command = [sys.executable, HERE / "run", *(arguments or ["fs/kci:nothing-stolen"])]
            return subprocess.run(
                command, env={**os.environ, "PATH": directory}, capture_output=True, text=True
            )

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
        ]
        for change in changes:
            self.assertNotEqual(self.check(*change), 0, change)


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


if __name__ == "__main__":
    unittest.main()
