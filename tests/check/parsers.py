#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""parsers.py SOURCE BUILD [drivers] [libfuzzer] - each parser of outside bytes (doc/design/trust.md) has a fuzzer that is built, or a reason"""
import json
import re
import sys
from pathlib import Path

top, build, has = Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:])
folders = ("symbol", "stream", "output", "view", "tree", "hist", "program", "control", "cmd")
reads = re.compile(r"\b(?:sscanf|getline|fgets|wire_get_\w+|lzma_code|ZSTD_decompress\w*|inflate)\(")
wrong = []

section = re.search(r"^## Parsers and their fuzzers$(.*?)^## ", (top / "doc/design/trust.md").read_text(), re.M | re.S)
rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in (section.group(1) if section else "").splitlines() if line.startswith("|")][2:]
if len(rows) < 20:
    wrong.append("doc/design/trust.md: the table of parsers is not there, or short")

tests = {t["name"]: t for t in json.loads((build / "meson-info/intro-tests.json").read_text())}
programs = {name for t in json.loads((build / "meson-info/intro-targets.json").read_text()) for name in t["filename"]}
named, files = set(), set()
for row in rows:
    if len(row) != 3:
        wrong.append(f"{row[0]}: {len(row)} columns, not 3")
        continue
    what, sources, fuzzers = row
    for pattern in sources.split(", "):
        found = sorted(top.glob(pattern))
        files.update(str(f.relative_to(top)) for f in found)
        if not found:
            wrong.append(f"{what}: there is no {pattern}")
    reason = re.match(r"none: \S.{20,}", fuzzers)
    names = [] if reason else fuzzers.split(", ")
    for name in names:
        if not re.fullmatch(r"fuzz-[a-z]+", name):
            wrong.append(f"{what}: '{name}' is no fuzzer, and no reason to have none")
    named.update(names)

# What the table names is built, and what is built is named.
for name in sorted(named if "drivers" in has else ()):
    if name not in tests:
        wrong.append(f"{name}: no test of this build")
    elif tests[name]["cmd"][0] not in programs:
        wrong.append(f"{name}: its program is not built")
for name in sorted(tests):
    if re.match(r"(lib)?fuzz(er)?-", name) and "fuzz-" + name.split("-", 1)[1] not in named:
        wrong.append(f"{name}: no row of doc/design/trust.md names it")

# A target that libFuzzer can run is run by it.
for target in sorted((top / "tests/fuzz").glob("*/*.c")):
    if "LLVMFuzzerTestOneInput(const" in target.read_text() and target.name == "target.c":
        name = "libfuzzer-" + target.parent.name
        if f"'{name}'" not in (target.parent / "meson.build").read_text() or ("libfuzzer" in has and name not in tests):
            wrong.append(f"{target.relative_to(top)}: there is no test {name}")

for folder in folders:
    for source in sorted((top / folder).rglob("*.c")):
        name = str(source.relative_to(top))
        if name not in files and (call := reads.search(source.read_text())):
            wrong.append(f"{name}: {call.group()}) reads bytes, and no row of doc/design/trust.md names the file")

for text in wrong:
    print(text)
sys.exit(1 if wrong else 0)
