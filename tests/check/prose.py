#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""prose.py ROOT - comments and messages begin with a subject that a stranger can name, and lines fit their limit

A sentence that begins with Who, Nobody, Those, Others or "What is" names neither the task nor the site nor the user that it is about
(doc/design/README.md has the words). This looks at the first word of each comment and of each message in the code, of
each sentence in doc/ and README.md, of each comment in tests/, and at the width of lines, tabs of 8, against ColumnLimit of .clang-format. Tables and
drawings in comments may be wider, and a line whose code ends at two thirds of the limit: its text is not cut, so that grep
finds a message (tools/wrap-lines.py wraps the others). The include guard of a header ends with the name of the file, and a section
of a file has a heading of nouns ("Running tasks", not "Who runs")."""
import os, re, sys

FOLDERS = 'bench', 'cmd', 'control', 'hist', 'include', 'output', 'runtime', 'stream', 'symbol', 'tools', 'tree', 'view'
RIDDLE = r'(Who|Whom|Whose|Whoever|Nobody|Somebody|Those|Others|What is|What was)\b'
COMMENT = re.compile(r'(/\*+ |^\s*/\*\*? |^\s*// )' + RIDDLE)
SENTENCE = re.compile(r'(^|[.:] |\t|\*\*|\| |^#+ )(Who|Whom|Whoever|Nobody|Somebody|What is|What was)\b')
MESSAGE = re.compile(r'"(%s: )?' + RIDDLE)
IN_TESTS = re.compile(r'^\s*(/\*+|\*|//|#) ' + RIDDLE)
HEADING = re.compile(r'^\s*/\* -{2,} (Who|Whom|Whose|Nobody|Letting|What)\b')
GUARD = re.compile(r'^#ifndef (\w+_H)\n#define \1\n', re.M)


def sources(root):
    for folder in FOLDERS:
        for path, dirs, names in os.walk(os.path.join(root, folder)):
            dirs[:] = [d for d in dirs if d != 'node_modules']
            for name in sorted(names):
                if name.endswith(('.c', '.h', '.S')):
                    yield os.path.join(path, name)


def tests(root):
    for path, dirs, names in os.walk(os.path.join(root, 'tests')):
        dirs[:] = [d for d in dirs if d != 'node_modules']
        for name in sorted(names):
            if name.endswith(('.c', '.h', '.S', '.cc', '.sh', '.py', '.mjs', '.awk', '.build', '.txt')):
                yield os.path.join(path, name)


def pages(root):
    yield os.path.join(root, 'README.md')
    for path, _, names in os.walk(os.path.join(root, 'doc')):
        yield from (os.path.join(path, name) for name in sorted(names) if name.endswith(('.md', '.scd')))


def riddles(text):
    for n, line in enumerate(text.splitlines(), 1):
        found = SENTENCE.search(line)
        if found:
            yield n, 'a sentence begins with "%s": say which task, agent, site or user' % found.group(2)


def limit(root):
    with open(os.path.join(root, '.clang-format')) as f:
        return int(re.search(r'^ColumnLimit: (\d+)', f.read(), re.M).group(1))


def is_prose(line):
    """A line of a comment that is neither a table nor a drawing."""
    found = re.match(r'\s*(/\*|\* |\*\t|//)(.*)', line)
    return found is not None and found.group(2).count('\t') < 2 and '|' not in line and '--' not in line


def is_too_long(line, width):
    """A line of C or a comment over the limit, its texts not counted where the code is short."""
    if len(line.expandtabs(8)) <= width:
        return False
    if re.match(r'\s*(/\*|\*|//)', line):
        return is_prose(line)
    return len(re.sub(r'"(?:\\.|[^"\\])*"', '', line).expandtabs(8)) > width * 2 / 3


def complaints(text, width):
    for n, line in enumerate(text.splitlines(), 1):
        found = COMMENT.search(line) or MESSAGE.search(line)
        if found:
            yield n, 'begins with "%s": say which task, agent, site or user' % found.group(2)
        found = HEADING.search(line)
        if found:
            yield n, 'a heading begins with "%s": name what the section is about by a noun' % found.group(1)
        if is_too_long(line, width):
            yield n, 'a line of %d columns, %d are the limit' % (len(line.expandtabs(8)), width)


def foreign_guard(name, text):
    """The include guard of a header, if it does not end with the name of the file."""
    found = GUARD.search(text)
    wanted = '_%s_H' % re.sub(r'\W', '_', os.path.basename(name)[:-2]).upper()
    return found.group(1) if name.endswith('.h') and found and not found.group(1).endswith(wanted) else None


def main():
    root = sys.argv[1]
    width = limit(root)
    bad, seen = 0, 0
    for path in sources(root):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        seen += 1
        for n, what in complaints(text, width):
            print('%s:%d: %s' % (os.path.relpath(path, root), n, what))
            bad += 1
        if foreign_guard(path, text):
            print('%s: the include guard %s does not name the file' % (os.path.relpath(path, root), foreign_guard(path, text)))
            bad += 1
    for path in tests(root):
        with open(path, encoding='utf-8') as f:
            for n, line in enumerate(f, 1):
                found = IN_TESTS.search(line)
                if found:
                    print('%s:%d: begins with "%s": say which task, agent, site or user' % (os.path.relpath(path, root), n, found.group(2)))
                    bad += 1
    for path in pages(root):
        with open(path, encoding='utf-8') as f:
            for n, what in riddles(f.read()):
                print('%s:%d: %s' % (os.path.relpath(path, root), n, what))
                bad += 1
    # The check itself: each kind is found.
    for line in 'Who asks.', 'It is so. What is left goes.', '**Nobody sees it.**':
        if not list(riddles(line)):
            print('prose.py does not find: ' + line)
            bad += 1
    for line in '# Who asks.', '\t/* Nobody asks. */', ' * Those of others.':
        if not IN_TESTS.search(line):
            print('prose.py does not find: ' + line)
            bad += 1
    for line in '/* Who asks. */', '\tfail("Nobody sees it");', ' * ' + width * 'x', '\t' + width * 'x' + ';', \
                '/* ---- What there is ---- */':
        if not list(complaints(line, width)):
            print('prose.py does not find: ' + line[:40])
            bad += 1
    if not foreign_guard('control/stop.h', '#ifndef UFT_LOOK_H\n#define UFT_LOOK_H\n'):
        print('prose.py does not find a foreign include guard')
        bad += 1
    if not seen:
        print('prose.py found no sources below ' + root)
    return 1 if bad or not seen else 0


sys.exit(main())
