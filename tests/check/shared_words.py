#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shared_words.py SOURCE_ROOT - doc/design/trust.md lists each word that a target and its session share, with its readers

A field of a shared structure without a row fails, and so does a row of a field that is gone, of a place that is none, or of a
reader that is no source file.
"""
import os
import re
import sys

# Where a structure of abi.h, rings.h or records.h lies, by the table's word. Fields of padding are left out.
PLACES = {
    'board': 'uft_arena', 'mail': 'uft_mail', 'request': 'uft_request', 'slice': 'uft_slice', 'deepest stack': 'uft_stack_max',
    'command': 'uft_cmd', 'hello': 'uft_hello', 'owned': 'uft_owned', 'object': 'uft_cmd_object', 'patch': 'uft_patch',
    'ring': 'uft_ring', 'ring data': 'uft_sub_header', 'profile': 'uft_profile', 'boot block': 'uft_boot',
}


def fields(abi, struct):
    body = re.search(r'^struct %s \{.*?\n(.*?)^\}' % struct, abi, re.M | re.S).group(1)
    body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
    body = re.sub(r'struct \{.*?\}', 'struct inner', body, flags=re.S)
    names = [re.sub(r'\[.*', '', part).split()[-1] for line in body.split(';') if line.strip()
             for part in line.split(',')]
    return [n for n in names if not n.startswith('pad')]


def rows(text):
    table = text.split('## Shared words and their readers')[1].split('\n## ')[0]
    for line in table.splitlines():
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if line.startswith('| ') and len(cells) == 4 and cells[0] != 'word':
            yield cells


def mistakes(abi, text, sources):
    listed = {place: set() for place in PLACES}
    for word, _, reader, _ in rows(text):
        for part in word.split(';'):
            place, _, names = (p.strip() for p in part.partition(':'))
            if place not in PLACES:
                yield 'the table has a row of "%s", which is no place' % place
                continue
            of = fields(abi, PLACES[place])
            for name in re.findall(r'`(\w+)(?:\[\])?`', names):
                listed[place].add(name)
                if name not in of:
                    yield 'the table has %s: %s, which struct %s has not' % (place, name, PLACES[place])
        for name in re.findall(r'[\w/]+\.c\b', reader):
            if not any(path.endswith('/' + name) for path in sources):
                yield 'the table names a reader %s, which is no source file' % name
    for place, struct in PLACES.items():
        for name in fields(abi, struct):
            if name not in listed[place]:
                yield 'struct %s has a field %s, of which the table has no row (%s)' % (struct, name, place)


def main():
    root = sys.argv[1]
    abi = ''
    for name in ('records.h', 'rings.h', 'abi.h'):
        with open(os.path.join(root, 'include/uft', name)) as f:
            abi += f.read()
    with open(root + '/doc/design/trust.md') as f:
        text = f.read()
    sources = [os.path.join(d, f) for top in ('runtime', 'control', 'stream', 'tree', 'cmd') for d, _, names in os.walk(os.path.join(root, top))
               for f in names]
    found = list(mistakes(abi, text, sources))
    # What has to be found.
    for planted, spoilt in (('a new field', (abi.replace('struct uft_mail {\n', 'struct uft_mail {\n\tuint32_t planted;\n', 1), text)),
                            ('a field that is gone', (abi, text.replace('`posted`', '`posted`, `planted`', 1))),
                            ('a file that is gone', (abi, text.replace('families.c', 'planted.c', 1)))):
        if len(list(mistakes(*spoilt, sources))) <= len(found):
            found.append('not found: ' + planted)
    for m in found:
        print('shared words: ' + m)
    return 1 if found else 0


sys.exit(main())
