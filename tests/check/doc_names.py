#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""doc_names.py SOURCE - files, functions and constants that the documents and comments name exist

 - In Markdown, manual pages and comments: a path whose first folder is one of ours names a file, a folder or a test program. `*` stands
   for any name, and so does a component that is one of PLACEHOLDERS.
 - In doc/design and in comments: the base name of a C or assembly file is that of one of ours; in doc/design of any file.
 - In doc/design, where nothing is an example: a function or a word of ours (name(), uft_name, UFT_NAME) is a word of the sources.
 - doc/design/README.md: each of the three walks has at most ten stations, numbered from 1, and each names a file.
 - doc/design/trust.md: a wait that one constant bounds is as long as that constant."""
import os, re, sys

CODE = '.c', '.h', '.S'
PLACEHOLDERS = 'NAME', 'MACHINE', 'PROGRAM', 'TEST'
# Of others: functions that nothing of ours calls, and the kernel's file of our folder's name.
FOREIGN = 'sched_getparam', '_init', 'frame_dummy', 'include/linux/ring_buffer.h'
# Files of others, and examples.
FOREIGN_FILES = 'errno.h', 'trace_output.c', 'a.c'
# Made by the build.
BUILT = r'runtime/libuft\.so'


def listing(top):
    """All files, as paths below TOP."""
    for path, dirs, names in os.walk(top):
        dirs[:] = sorted(d for d in dirs if not d.startswith('.') and d != 'node_modules'
                         and not os.path.exists(os.path.join(path, d, 'meson-info')))
        for name in names:
            yield os.path.relpath(os.path.join(path, name), top)


def read(top, path):
    with open(os.path.join(top, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def comments(text):
    """The text with all but its C comments blanked, line by line."""
    out, at = [], 0
    for m in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', text, re.S):
        out.append('\n' * text.count('\n', at, m.start()))
        out.append('\n' * m.group().count('\n') if m.group()[0] == '"' else m.group())
        at = m.end()
    return ''.join(out)


class Names:
    def __init__(self, top):
        self.files = sorted(listing(top))
        self.known = set(self.files)
        for path in self.files:
            while os.path.dirname(path):
                path = os.path.dirname(path)
                self.known.add(path)
        self.bases = {os.path.basename(f) for f in self.files}
        self.tops = {f.split('/')[0] for f in self.files if '/' in f}
        # A program of the tests stands in a meson.build as a word.
        self.programs = {f: set(re.findall(r"'([\w-]+)'", read(top, f))) for f in self.files if f.endswith('meson.build')}
        self.words = set()
        for f in self.files:
            if f.endswith(CODE + ('.py', '.sh', '.build', '.js', '.mjs')):
                self.words.update(re.findall(r'[A-Za-z_]\w*', read(top, f)))
        self.path = re.compile(r'(?<![\w./$%{}<-])((?:' + '|'.join(sorted(self.tops)) + r')/[\w./*-]*[\w*])')

    def is_there(self, path):
        if path in self.known or path in FOREIGN or re.fullmatch(BUILT, path):
            return True
        parts = ['[^/]*' if p in PLACEHOLDERS else re.escape(re.sub('^(' + '|'.join(PLACEHOLDERS) + r')(?=[_.])', '*', p)).replace(r'\*', '[^/]*')
                 for p in path.split('/')]
        pattern = re.compile('/'.join(parts) + r'(\.(c|h|sh|py|txt|S))?')
        if any(pattern.fullmatch(k) for k in self.known):
            return True
        folder, name = os.path.split(path)
        return name in self.programs.get(folder + '/meson.build', ()) or name in self.programs.get(os.path.dirname(folder) + '/meson.build', ())

    def complaints(self, text, is_design=False, is_comment=False):
        for n, line in enumerate(text.splitlines(), 1):
            for m in self.path.finditer(line):
                path = m.group(1).rstrip('/')
                if not self.is_there(path):
                    yield n, 'there is no ' + path
            for m in re.finditer(r'(?<![\w./*<-])(\w+\.(?:c|h|S|py|sh))\b', line) if is_design or is_comment else ():
                name = m.group(1)
                if name not in self.bases and name not in FOREIGN_FILES and not name.startswith(PLACEHOLDERS):
                    yield n, 'no file is called ' + name
            if not is_design:
                continue
            for m in re.finditer(r'\b([A-Za-z_]\w*)\(\)|\b((?:uft_|UFT_)\w*\w)', line):
                word = m.group(1) or m.group(2)
                if word.endswith('_'):
                    if not any(w.startswith(word) for w in self.words):
                        yield n, 'no word of the sources begins with ' + word
                elif word not in self.words and word not in FOREIGN:
                    yield n, 'no word of the sources is ' + word


def walk_complaints(text):
    """Of the three walks: a paragraph each, which begins with its name."""
    walks = re.findall(r'^\*\*From .*?(?=\n\n)', text, re.M | re.S)
    if len(walks) != 3:
        yield '%d walks' % len(walks)
    for walk in walks:
        name, stations = walk.split('**')[1], re.split(r'(?<=[.*]) *\n?(?=\d+ )', walk)[1:]
        numbers = [int(s.split()[0]) for s in stations]
        if numbers != list(range(1, len(numbers) + 1)) or not 3 < len(numbers) <= 10:
            yield '%s: stations %s' % (name, numbers)
        for s in stations:
            if not re.search(r'\w\.[chS]\b|\w\(\)|\w/', s):
                yield '%s: station %s names no file' % (name, s.split()[0])


def bound_complaints(text, sources):
    """Rows `| a wait | 5 s ... | ... | `NAME_MS` |`: a definition of NAME_MS has that many seconds."""
    rows = re.findall(r'^\|[^|]*\| (\d+) s\b[^|]*\|[^|]*\| `(\w+_MS)` \|$', text, re.M)
    if len(rows) < 5:
        yield '%d waits with a constant' % len(rows)
    for seconds, name in rows:
        values = re.findall(r'#define\s+%s\s+(\d+)' % name, sources)
        if str(1000 * int(seconds)) not in values:
            yield '%s is %s s here, and %s ms in the sources' % (name, seconds, ' or '.join(values) or 'no')


def main():
    top = sys.argv[1]
    names = Names(top)
    bad, seen = 0, 0
    for path in names.files:
        is_doc = path.endswith(('.md', '.scd'))
        is_code = path.endswith(CODE) and not path.startswith('tests/')
        if not is_doc and not is_code:
            continue
        seen += 1
        text = read(top, path)
        for n, what in names.complaints(text if is_doc else comments(text), path.startswith('doc/design/'), is_code):
            print('%s:%d: %s' % (path, n, what))
            bad += 1
    for what in walk_complaints(read(top, 'doc/design/README.md')):
        print('doc/design/README.md: ' + what)
        bad += 1
    control = ''.join(read(top, f) for f in names.files if f.startswith('control/') and f.endswith(('.c', '.h')))
    for what in bound_complaints(read(top, 'doc/design/trust.md'), control):
        print('doc/design/trust.md: ' + what)
        bad += 1
    if len(list(bound_complaints(5 * '| w | 7 s | | `ANSWER_MS` |\n', control))) != 5:
        print('doc_names.py does not compare bounds')
        bad += 1
    # The check itself: each kind is found, and what is there is not.
    for line in 'see control/arm/nothing.c', 'nothing_like_it.c', 'uft_nothing' '_like_it()', 'tests/func/nothing':
        if not list(names.complaints(line, True)):
            print('doc_names.py does not find: ' + line)
            bad += 1
    for line in 'runtime/arch/*/encode.h', 'control/relocate/NAME.c', 'tests/check/doc_names.py', 'uft_stream_open()', 'tests/func/':
        for n, what in names.complaints(line, True):
            print('doc_names.py finds in "%s": %s' % (line, what))
            bad += 1
    if not list(names.complaints('nothing_like_it.c', False, True)):
        print('doc_names.py does not find a file that a comment names')
        bad += 1
    walk = '**From a to b.** ' + ' '.join('%d `x.c` does it.' % i for i in range(1, 12)) + '\n\n'
    if len(list(walk_complaints(3 * walk))) != 3:
        print('doc_names.py does not count stations')
        bad += 1
    if seen < 100:
        print('doc_names.py found %d files only' % seen)
    return 1 if bad or seen < 100 else 0


sys.exit(main())
