#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""one_place.py SOURCE - what doc/design/README.md says about where to change what: each of these things has one place

 - The name of a tracer stands in its row of symbol/tracer.c, that of an export in output/export.c: no other file
   decides by it. Names that are words of other things as well are left out.
 - Rows of tracefs files stand in tree/files/table.c, findings of `uft doctor` in control/doctor/checks.c.
 - Formats of events that are built in stand in symbol/event_type.c; the other writers of formats are listed here.
 - Their payloads are structures of control/events/task_events.c, which have the fields of the formats, member by
   member, but for a mark's, which is made of its text where its triggers run; the names of fields stand in no other file than in these two and where old files are read.
 - What a rewritten entry of arm64 looks like is in runtime/arch/arm64/patch.h: what makes it is called by
   runtime/patch/words/ and printed by cmd/disas/arm64.c; the words of its instructions are made there and in
   control/relocate/arm64*.c, and no file of the runtime but the architecture's own asks which one it is.
 - A process that attach refuses to trace is refused in control/start/attachable.c, before it is touched, or in
   say_failure() of attach.c, where only trying tells.
 - Each file and folder in the table's second column exists: doc_names.py."""
import os, re, sys

FOLDERS = 'control', 'symbol', 'hist', 'stream', 'output', 'tree', 'view', 'cmd', 'program', 'runtime'
PAYLOADS = 'control/events/task_events.c'
OLD_FILES = 'stream/decode/old_events.c'
COMMON_BYTES = 8		# of each event's record, in front of its payload
# Also: systems of events, kinds of reports, columns of tables, stubs in disassemblies, commands, a kernel's event.
WORDS = 'nop', 'function', 'function_graph', 'profile', 'hwlat', 'osnoise', 'sched_switch', 'trace.dat'
# Tracepoints of programs, the kernel's events of a trace.dat, user_events, synthetic events.
FORMATS = 'symbol/event_type.c', 'symbol/tracepoint.c', 'output/krecord.c', 'tree/files/user_event_text.c', 'hist/synthetic.c'


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


def only_in(files, pattern, *places, optional=False):
    found = {path for path, text in files.items() if re.search(pattern, text, re.M)}
    for path in sorted(found - set(places)):
        yield '%s: %s stands in %s' % (path, pattern, ', '.join(places))
    for path in sorted(set(places) - found) if not optional else ():
        yield '%s has no %s' % (path, pattern)


def fields_of_formats(text):
    """event: [(field, bytes), ...] of the built-in types; the common fields come from a macro."""
    for name, rest in re.findall(r'"name: (\w+)\\nID: (.*?)print fmt', text, re.S):
        yield name, [(field, int(offset), int(size)) for field, offset, size in
                     re.findall(r'\\tfield:[^;"]*?(\w+)(?:\[\d+\])?;\\toffset:(\d+);\\tsize:(\d+);', rest)]


def fields_of_payloads(text):
    """The same of the structures: what is behind a member `text` is of any length."""
    for name, body in re.findall(r'^struct (\w+)_payload \{\n(.*?)^\};', text, re.S | re.M):
        at, fields = COMMON_BYTES, []
        for of, members in re.findall(r'^\t(char|u?int32_t) ([^;]+);', body, re.M):
            for member in members.split(', '):
                field, _, n = member.partition('[')
                size = int(n[:-1]) if n[:-1].isdigit() else 4
                if field != 'text':
                    fields.append((field, at, size))
                at += size
        yield 'sched_process_' + name, fields


def event_fields(files):
    formats = dict(fields_of_formats(files['symbol/event_type.c']))
    payloads = dict(fields_of_payloads(files[PAYLOADS]))
    if len(formats) < 3 or sum(map(len, formats.values())) < 10:
        yield 'symbol/event_type.c has %d formats, not 3 or more' % len(formats)
    for event in sorted((formats.keys() | payloads.keys()) - {'print'}):
        if formats.get(event) != payloads.get(event):
            yield '%s: %s in symbol/event_type.c, %s in %s' % (event, formats.get(event), payloads.get(event), PAYLOADS)
    for name in sorted({field for fields in formats.values() for field, _, _ in fields if '_' in field}):
        yield from only_in(files, '"%s"|->%s\\b' % (name, name), 'symbol/event_type.c', OLD_FILES, optional=True)
    yield from only_in(files, r'^struct (?:fork|exec|exit)_payload \{', PAYLOADS)


def arm64_forms(files):
    words = 'runtime/patch/words/'
    arch = 'runtime/arch/arm64/patch.h', 'runtime/arch/riscv64/patch.h'
    yield from only_in(files, r'\barch_(?:make_code|code_(?:idle|func|graph|jump))\(', *arch, words + 'unprepared.c',
                       words + 'tracepoint.c', 'cmd/disas/arm64.c', 'cmd/disas/riscv64.c', optional=True)
    yield from only_in(files, r'\bA64_CODE_', arch[0], 'cmd/disas/arm64.c')
    yield from only_in(files, r'\ba64_(?:b|bl|br|ldr_literal)\(', 'runtime/arch/arm64/encode.h', arch[0],
                       'control/relocate/arm64_move.c', 'control/relocate/arm64.c', optional=True)
    runtime = {path: text for path, text in files.items() if path.startswith('runtime/')}
    yield from only_in(runtime, r'__aarch64__', 'runtime/arch/arch.h', 'runtime/arch/arm64/frame.h')


def complaints(files):
    yield from event_fields(files)
    yield from arm64_forms(files)
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
                 '"process %d (%s) cannot be traced: why"', 'find(type, "old_pid")', 'w->child_comm = 0', 'w = a64_bl(at, to)',
                 'arch_make_code(w)', 'A64_CODE_FUNC'):
        if not list(complaints({**files, 'cmd/more.c': text})):
            print('one_place.py does not find: ' + text)
            bad.append(text)
    # A field in the format alone, or in the payload alone; a question about the architecture in the middle of the runtime.
    for path, old, new in (('symbol/event_type.c', '"\\tfield:int prio;', '"\\tfield:int nice;\\toffset:32;\\tsize:4;\\tsigned:1;\\n"\n"\\tfield:int prio;'),
                           (PAYLOADS, '\tint32_t child_pid;\n', '\tint32_t child_pid;\n\tint32_t nice;\n'),
                           ('runtime/patch/words/patch.c', '#include', '#ifdef __aarch64__\n#endif\n#include')):
        if old not in files[path] or not list(complaints({**files, path: files[path].replace(old, new, 1)})):
            print('one_place.py does not find in %s: %s' % (path, new))
            bad.append(new)
    return 1 if bad else 0


sys.exit(main())
