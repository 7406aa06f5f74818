#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""view_table.py SOURCE - each row of KernelShark's table (doc/view.md) names checks that tests have, or a decision to do without"""
import re
import sys
from pathlib import Path

top = Path(sys.argv[1])
where = {"view-": "tests/func/view", "tools-": "tests/func/tools", "fuzz-": "tests/fuzz/uft"}
# A test by its name: the script, and the pages that it drives.
suffixes = {"view-": (".sh", ".mjs"), "tools-": (".sh",), "fuzz-": (".c",)}
wrong = []
decisions = (top / "doc/design/decisions.md").read_text()
rows = [line.strip().strip("|").split("|") for line in (top / "doc/view.md").read_text().splitlines() if line.startswith("|")]
if len(rows) < 12 or any(len(row) != 3 for row in rows):
    wrong.append("doc/view.md: the table has other columns, or few rows")
seen = 0
for row in rows[2:]:
    what, here, shown = (cell.strip() for cell in row[:3])
    is_named = False
    for part in shown.split(";"):
        name, _, checks = part.strip().partition(":")
        if name == "decision":
            is_named = True
            for title in re.findall(r'"([^"]+)"', checks):
                seen += 1
                if f"**{title}.**" not in decisions:
                    wrong.append(f'{what}: doc/design/decisions.md has no "{title}"')
            continue
        kind = next((k for k in where if name.startswith(k)), None)
        if not kind:
            continue
        is_named = True
        base = top / where[kind] / name[len(kind):]
        files = [base.with_suffix(s) for s in suffixes[kind] if base.with_suffix(s).exists()]
        if not files:
            wrong.append(f"{what}: there is no test {name}")
        if not re.search(r'"[^"]+"', checks) and kind != "fuzz-":
            wrong.append(f"{what}: {name} without a check")
        text = "\n".join(f.read_text() for f in files)
        for check in re.findall(r'"([^"]+)"', checks):
            seen += 1
            if files and check not in text:
                wrong.append(f'{what}: {name} has no check "{check}"')
    if not is_named:
        wrong.append(f"{what}: no test is named, and no decision")
    if "missing" in here + shown:
        wrong.append(f"{what}: something is missing")
if not seen:
    wrong.append("no row names a check")
for text in wrong:
    print(text)
sys.exit(1 if wrong else 0)
