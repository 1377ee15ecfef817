#!/usr/bin/env python3
"""Tests of sizes.py, on a program of known symbols."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import sizes

# The names of real symbols, and the crates that they count for.
NAMES = {
    "_RNvNtCs154tgNqKOSA_7tessera6crypto5equal": "tessera",
    # The `impl` is in another crate than the type, and named in a third.
    "_RNvXs0_NtCskJ9KjnqNoW7_18tessera_rustcrypto4hashNtCsjX5x7YFIwkp_4sha26Sha256NtNtCs154tgNqKOSA_7tessera6crypto4Hash4hash":
        "tessera_rustcrypto",
    "_RNvYINtNtCs6OdwNJurNAG_6cipher7wrapper7WrapperhENtB6_12StreamCipher5applyCskJ9KjnqNoW7_18tessera_rustcrypto": "cipher",
    "_RINvNtCs3geTJlg3iZL_4core3ptr13drop_in_placeINtNtB4_6option6OptionNtNtCs154tgNqKOSA_7tessera4wire6ReaderEECs5AFg1oQPSZG_6client":
        "tessera",
    "_RINvNtCs3geTJlg3iZL_4core3ptr13drop_in_placeSThhEECs5AFg1oQPSZG_6client": "core",
    "_RNvCs5Kx8vYFIwkp_7___rustc12___rust_alloc": sizes.OTHER,
    "_ZN7tessera4wire6Reader4next17h0123456789abcdefE": "tessera",
    "_ZN58_$LT$tessera..wire..Reader$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": "tessera",
    "Reset": sizes.OTHER,
}


def readable(name):
    text = subprocess.run(["c++filt", name], check=True, capture_output=True, text=True).stdout.strip()
    # Other than nm, it prints the hash of each crate.
    return re.sub(r"\[[0-9a-f]+\]", "", text)


class Sizes(unittest.TestCase):
    def test_a_symbol_counts_for_the_crate_that_its_code_is_of(self):
        for name, crate in NAMES.items():
            with self.subTest(name):
                self.assertEqual(sizes.crate(name, readable(name)), crate)

    def test_the_crates_of_a_program_are_all_of_its_flash(self):
        source = """
            .section .text
            one: .skip 10
            .set folded, one
            .skip 6
            two: .skip 20
            .section .rodata
            .skip 5
            table: .skip 32
            .data
            .skip 8
        """
        crypto, wire = "_RNvNtCs154tgNqKOSA_7tessera6crypto3one", "_RNvNtCs154tgNqKOSA_6cipher4wire3two"
        folded, table = "_RNvNtCs154tgNqKOSA_5other3one", "_RNvNtCs154tgNqKOSA_4sha25table"
        for short, name, size in (("folded", folded, 10), ("one", crypto, 10), ("two", wire, 20), ("table", table, 32)):
            source = source.replace(f"{short}:", f"{name}:").replace(f".set {short},", f".set {name},")
            source = source.replace(", one", f", {crypto}") + f"\n.size {name}, {size}"
        with tempfile.TemporaryDirectory() as folder:
            made, program = Path(folder) / "made.o", Path(folder) / "program"
            subprocess.run(["as", "-o", made], input=source + "\n", text=True, check=True)
            subprocess.run(["ld", "-e", "0", "-o", program, made], check=True)
            found = sizes.of(program)
        self.assertEqual([found["sections"][name] for name in (".text", ".rodata", ".data")], [36, 37, 8])
        self.assertEqual(found["crates"], {"sha2": 32, "cipher": 20, "other": 11, "tessera": 10})
        self.assertEqual(sum(found["crates"].values()), 36 + 37)

    def test_symbols_that_overlap_count_once_and_gaps_for_no_crate(self):
        sections = {".text": (100, 50), ".rodata": (400, 10)}
        symbols = [(120, 10, "b"), (100, 15, "a"), (110, 12, "c"), (145, 20, "a"), (300, 5, "d")]
        self.assertEqual(sizes.by_crate(sections, symbols), {"other": 25, "a": 20, "b": 8, "c": 7})


if __name__ == "__main__":
    unittest.main()
