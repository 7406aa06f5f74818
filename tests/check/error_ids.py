#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""error_ids.py SOURCE - each text that the code writes to error_log is in tests/golden/error_ids, and a golden case meets it, caret and errno"""
import re
import sys
from pathlib import Path

top = Path(sys.argv[1])
CALLS = re.compile(r"\b(?:hist_fail|fail_at|fail|refuse)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[()]')
SOURCES = {
    "filter": ["symbol/event_filter.c", "tree/files/events.c"],
    "hist": [str(f.relative_to(top)) for f in sorted(top.glob("hist/*.c")) if f.name != "synthetic.c"] + ["tree/triggers/event_trigger.c"],
    "synth": ["hist/synthetic.c", "tree/files/synthetic_events.c"],
    "ours": ["tree/triggers/event_trigger_word.c"],
}
# How the kernel begins the line, whose caret is two lines below.
PREFIX = {"filter": r"event filter parse error: ", "hist": r"hist:[^ ]*: ", "synth": r"synthetic_events: "}


def call(text, at):
    """The arguments of the call whose parenthesis is at @at."""
    depth = 0
    for token in TOKEN.finditer(text, at):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if not depth:
            return text[at:token.end()]
    return ""


def said(name):
    """What a source may write. `CPUS{` and the like are no sentences."""
    text = (top / name).read_text()
    found = {s for m in CALLS.finditer(text) for s in LITERAL.findall(call(text, m.end() - 1))}
    found |= set(re.findall(r'uft_filter_error\)?[^=;{]*=?\s*\{\s*"([^"]*)"', text))
    return {s for s in found if re.match(r"[A-Z][a-z]", s)} - ({"Error"} if name.startswith("tree/triggers") else set())


def is_met(grammar, text, where, kernel):
    if grammar == "ours":
        return text in (top / where).read_text()
    line = re.compile(r"^(?:\[[^]]*\] )?" + PREFIX[grammar] + "error: " + re.escape(text) + r"\n  Command: .*\n *\^$", re.M)
    return any(line.search(k) for k in kernel) or (grammar == "filter" and f"\nparse_error: {text}\n" in "\n".join(kernel))


def compare(rows, code, met):
    wrong = []
    for grammar in SOURCES:
        listed = {text for g, text in rows if g == grammar}
        wrong += [f"{grammar}: tests/golden/error_ids lacks '{text}'" for text in sorted(code[grammar] - listed)]
    for (grammar, text), reason in rows.items():
        if not reason and text not in code[grammar]:
            wrong.append(f"{grammar}: no source says '{text}'")
        if not reason and not met[grammar, text]:
            wrong.append(f"{grammar}: no golden case meets '{text}'")
        if reason and met[grammar, text]:
            wrong.append(f"{grammar}: '{text}' has a reason why nothing meets it, and a golden case does")
    return wrong


kernel = [f.read_text() for part in ("hist", "tree") for f in sorted((top / "tests/golden" / part / "kernel").iterdir())]
rows, names = {}, {}
for line in (top / "tests/golden/error_ids").read_text().splitlines():
    if line and not line.startswith("#"):
        words, _, reason = line.partition(" # ")
        grammar, name, text = words.split(" ", 2)
        rows[grammar, text] = reason
        names[grammar, text] = name
code = {grammar: set().union(*map(said, files)) for grammar, files in SOURCES.items()}
met = {row: is_met(*row, names[row], kernel) for row in rows}
wrong = compare(rows, code, met)
# The check itself: a row taken out, and a case that is not there, are noticed.
for row in rows:
    if row[1] in code[row[0]] and not compare({r: v for r, v in rows.items() if r != row}, code, met):
        wrong.append(f"{row}: the check does not miss this row")
    if not rows[row] and not compare(rows, code, {**met, row: False}):
        wrong.append(f"{row}: the check does not miss its case")
print("\n".join(wrong) if wrong else f"{len(rows)} identities, {sum(not r for r in rows.values())} met")
sys.exit(bool(wrong))
