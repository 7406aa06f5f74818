#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""one_place.py SOURCE - what doc/design/README.md says about where to change what: each of these things has one place

 - The name of a tracer stands in its row of symbol/tracer.c, that of an export in output/export.c: no other file
   decides by it. Names that are words of other things as well are left out.
 - Rows of tracefs files stand in tree/files/table.c, findings of `uft doctor` in control/doctor/checks.c.
 - Formats of events that are built in stand in symbol/event_type.c; the other writers of formats are listed here.
 - A process that attach refuses to trace is refused in control/start/attachable.c, before it is touched, or in
   say_failure() of attach.c, where only trying tells.
 - Each file and folder in the table's second column exists: doc_names.py."""
import os, re, sys

FOLDERS = 'control', 'symbol', 'hist', 'stream', 'output', 'tree', 'view', 'cmd', 'program', 'runtime'
# Also: systems of events, kinds of reports, columns of tables, stubs in disassemblies, commands, a kernel's event.
WORDS = 'nop', 'function', 'function_graph', 'profile', 'hwlat', 'osnoise', 'sched_switch', 'trace.dat'
# Tracepoints of programs, the kernel's events of a trace.dat, user_events, synthetic events.
FORMATS = 'symbol/event_type.c', 'symbol/tracepoint.c', 'output/krecord.c', 'tree/files/user_events.c', 'hist/synthetic.c'


def sources(top):
    for folder in FOLDERS:
        for path, dirs, names in os.walk(os.path.join(top, folder)):
            dirs[:] = sorted(d for d in dirs if d != 'node_modules')
            for name in sorted(names):
                if name.endswith(('.c', '.h')):
                    with open(os.path.join(path, name), encoding='utf-8') as f:
                        yield os.path.relpath(os.path.join(path, name), top), f.read()


def table(files, path, row, least):
    names = re.findall(row, files[path], re.M)
    if len(names) < least:
        yield '%s has %d rows, not %d or more' % (path, len(names), least)
    for name in set(names) - set(WORDS):
        for other, text in files.items():
            if other != path and '"%s"' % name in text:
                yield '%s: "%s" has a row in %s' % (other, name, path)


def only_in(files, pattern, *places):
    found = {path for path, text in files.items() if re.search(pattern, text)}
    for path in sorted(found - set(places)):
        yield '%s: %s stands in %s' % (path, pattern, ', '.join(places))
    for path in sorted(set(places) - found):
        yield '%s has no %s' % (path, pattern)


def complaints(files):
    yield from table(files, 'symbol/tracer.c', r'\.name = "(\w+)"', 15)
    yield from table(files, 'output/export.c', r'^\t\{ "([\w.-]+)",', 12)
    yield from only_in(files, r'\tFILE\("', 'tree/files/table.c')
    yield from only_in(files, r'\bDOCTOR_FAIL,', 'control/doctor/checks.c')
    yield from only_in(files, r'\\tfield:', *FORMATS)
    yield from only_in(files, r'process %d \(%s\) cannot be (?:traced|stopped)', 'control/start/attachable.c', 'control/start/attach.c')


def main():
    files = dict(sources(sys.argv[1]))
    bad = list(complaints(files))
    for line in bad:
        print(line)
    # The check itself: one more place of each is found.
    for text in ('"kmemtrace"', '"perfetto"', '\tFILE("trace"', 'say(out, DOCTOR_FAIL, "no")', '"\\tfield:int a;"',
                 '"process %d (%s) cannot be traced: why"'):
        if not list(complaints({**files, 'cmd/more.c': text})):
            print('one_place.py does not find: ' + text)
            bad.append(text)
    return 1 if bad else 0


sys.exit(main())
