#!/usr/bin/env python3
"""Tests of own-instructions, on files in callgrind's format."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).with_name("own-instructions")

# `run` has 120 instructions of its own, `parse` 30. The null provider costs `run` 200 in two calls: 80 in `seal`, 70 in
# `tag`, and 50 of memcpy. Of memcpy's 57, the other 7 are for `run`.
FILE = """\
# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /protocol-cost
fl=(1) run.rs
fn=(1) engine::run
10 100
+2 20
cfi=(2) parse.rs
cfn=(2) engine::parse
calls=3 40
* 30
cfn=(3) null_provider::seal
calls=1 7
-1 150
cfn=(3)
calls=1 7
12 50
cfn=(4) memcpy
calls=1 0
13 7

fn=(2)
40 30

fn=(3)
7 80
cfn=(5) null_provider::tag
calls=2 9
8 80
cfn=(4)
calls=1 0
8 40

fn=(5)
9 70
cfn=(4)
calls=1 0
9 10

fn=(4)
0 57
totals: 357
"""


class OwnInstructions(unittest.TestCase):
    def run_on(self, text, count=1):
        with tempfile.NamedTemporaryFile("w", suffix=".callgrind") as file:
            file.write(text)
            file.flush()
            command = [sys.executable, SCRIPT, file.name, str(count)]
            return subprocess.run(command, capture_output=True, text=True)

    def test_what_the_null_provider_causes_is_left_out(self):
        run, parse, memcpy = 100 + 20, 30, 7
        self.assertEqual(self.run_on(FILE).stdout, f"{run + parse + memcpy}\n")

    def test_the_sum_is_divided_by_the_count(self):
        self.assertEqual(self.run_on(FILE, 10).stdout, "15\n")

    def test_a_file_without_the_null_provider_is_refused(self):
        result = self.run_on(FILE.replace("null_provider", "other"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("names no function of the null provider", result.stderr)


if __name__ == "__main__":
    unittest.main()
