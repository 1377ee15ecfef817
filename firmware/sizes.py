#!/usr/bin/env python3
"""Prints what the crates of a program take in flash: .text and .rodata of an ELF file with its symbols, as JSON.

    firmware/sizes.py FILE

A symbol counts for the crate that its function is of, and code that was inlined for the function that it went into; a
generic function counts for the crate that it is written in, a method for that of its `impl`, and the code that drops a
value for the crate of the value's type. Of equal functions that the linker folded the first counts. What has no symbol
of a crate (string literals, startup code, padding) is `other`, so that the sum is .text and .rodata exactly.

Needs Debian's binutils.
"""

import json
import re
import subprocess
import sys
from collections import Counter

FLASH = (".text", ".rodata")
RAM = (".data", ".bss")
OTHER = "other"
# The start of a name as Rust mangles it (v0), up to the first crate: tags of paths and types, then the root of a crate.
MANGLED = re.compile(r"_R(?:I|N[A-Za-z]|[MX](?:s[0-9A-Za-z]*_)?|Y|[RQ](?:L[0-9A-Za-z]*_)?|[POSAT]|[a-z])*?"
                     r"C(?:s[0-9A-Za-z]*_)?(?P<length>\d+)_?(?P<rest>\w+)")
# In a readable name: a path begins with its crate.
CRATE = re.compile(r"(?<![\w:])([a-z_]\w*)::")
DROPS = re.compile(r"core::ptr::(?:drop_in_place|drop_glue)(?:::)?<")
LIBRARY = {"core", "alloc", "std"}


def crate(mangled, readable):
    """The crate that a symbol counts for."""
    if drops := DROPS.match(readable):
        crates = CRATE.findall(readable, drops.end())
        return next((name for name in crates if name not in LIBRARY), "core")
    name = OTHER
    if found := MANGLED.match(mangled):
        name = found["rest"][:int(found["length"])]
    elif mangled.startswith("_ZN") and (found := CRATE.search(readable)):
        name = found[1]
    # The compiler's own, such as the calls of the allocator.
    return OTHER if name.startswith("_") else name


def sections(program):
    """The sections of a program that take flash or RAM: their addresses and sizes by name."""
    listing = subprocess.run(["size", "-A", program], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in listing.splitlines()]
    found = {line[0]: (int(line[2]), int(line[1])) for line in words if line and line[0] in FLASH + RAM}
    return {name: found.get(name, (0, 0)) for name in FLASH + RAM}


def symbols(program):
    """The symbols of a program that have a size, each with its address, size and crate."""
    listings = (subprocess.run(["nm", "--no-sort", "--print-size", *option, program], check=True, capture_output=True,
                               text=True).stdout.splitlines() for option in ([], ["--demangle"]))
    for mangled, readable in zip(*listings):
        words = mangled.split(maxsplit=3)
        if len(words) == 4:
            address, size, kind, name = words
            # The lowest bit of a function's address is its instruction set.
            yield int(address, 16) & ~(kind in "Tt"), int(size, 16), crate(name, readable.split(maxsplit=3)[3])


def by_crate(sections, symbols):
    """What each crate takes in flash, the largest first."""
    crates = Counter()
    symbols = sorted(symbols, key=lambda symbol: symbol[0])
    for name in FLASH:
        reached, size = sections[name]
        end = reached + size
        for address, length, owner in symbols:
            begin, stop = max(address, reached), min(address + length, end)
            if begin < stop:
                crates[OTHER] += begin - reached
                crates[owner] += stop - begin
                reached = stop
        crates[OTHER] += end - reached
    return dict(crates.most_common())


def of(program):
    """The sizes of a program by section and by crate."""
    found = sections(program)
    return {"sections": {name: size for name, (_, size) in found.items()}, "crates": by_crate(found, symbols(program))}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("sizes: firmware/sizes.py FILE")
    print(json.dumps(of(sys.argv[1]), indent=2))
