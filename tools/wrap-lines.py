#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wrap-lines.py FILE... - wraps code lines of more than 120 columns, one at a time, and leaves all others as they are

A comment behind code moves above it; a statement or prototype is wrapped by clang-format. What clang-format would turn into a
table of its own taste (initialisers, chains of ?:) stays and is named: it is for a person.
"""
import re
import subprocess
import sys

LIMIT = 120


def columns(line):
    return len(line.expandtabs(8))


def is_in_comment(lines, i):
    """Is line i inside a block comment that began above?"""
    text = '\n'.join(lines[:i])
    return text.rfind('/*') > text.rfind('*/')


def comment_above(line):
    """The line with the comment behind its code put above it, or None."""
    m = re.match(r'^(\s*)(\S.*?[;,{])\s*(/\*[^*].*\*/)$', line)
    if not m or '/*' in m.group(2):
        return None
    new = [m.group(1) + m.group(3), m.group(1) + m.group(2)]
    return new if columns(new[0]) <= LIMIT else None


def wrapped(path, lines, i):
    """The lines that clang-format makes of line i, or None if it changes more than that or makes a table."""
    out = subprocess.run(['clang-format', '--lines=%d:%d' % (i + 1, i + 1), '--assume-filename=' + path],
                         input='\n'.join(lines), capture_output=True, text=True, check=True).stdout.split('\n')
    grown = len(out) - len(lines)
    if grown <= 0 or out[:i] != lines[:i] or out[i + 1 + grown:] != lines[i + 1:]:
        return None
    new = out[i:i + 1 + grown]
    if ''.join(''.join(new).split()) != ''.join(lines[i].split()) or len(new) > 4 or max(map(columns, new)) > LIMIT:
        return None
    if any(re.match(r'^\s*[?:]', x) or re.search(r'\{.+|^\s*\{|/\*', x) for x in new):
        return None
    return new


def main():
    left = 0
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as f:
            before = lines = f.read().split('\n')
        i = 0
        while i < len(lines):
            if columns(lines[i]) > LIMIT and not lines[i].endswith('\\') and not is_in_comment(lines, i):
                new = comment_above(lines[i])
                if new and i and re.match(r'^\s*#|.*\\$', lines[i - 1]):
                    new = new if not lines[i - 1].endswith('\\') else None
                new = new or wrapped(path, lines, i)
                if new:
                    lines = lines[:i] + new + lines[i + 1:]
                    continue
                left += 1
                print('%s:%d: %d columns' % (path, i + 1, columns(lines[i])))
            i += 1
        if lines != before:
            with open(path, 'w', encoding='utf-8') as f:
                f.write('\n'.join(lines))
    return left > 0


if __name__ == '__main__':
    sys.exit(main())
