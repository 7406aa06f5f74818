#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wrap-lines.py FILE... - wraps code lines of more than 120 columns, one at a time, and leaves all others as they are

A comment behind code moves above it; a statement or prototype is wrapped by clang-format. What clang-format would turn into a
table of its own taste (initialisers, chains of ?:, macros) is cut behind its outermost comma or operator that fits. A text is never
cut: a message stays one line that grep finds. What stays too long is named: it is for a person.
"""
import re
import subprocess
import sys
import textwrap

LIMIT = 120


def columns(line):
    return len(line.expandtabs(8))


def is_in_comment(lines, i):
    """Is line i inside a block comment that began above?"""
    text = '\n'.join(lines[:i])
    return text.rfind('/*') > text.rfind('*/')


def comment_above(lines, i):
    """Line i with the comment behind its code put above it, and how many lines were taken; or None."""
    m = re.match(r'^(\s*)(\S.*?[;,{)]|#define.*?\S)\s*/\*(.*)$', lines[i]) or re.match(r'^(\s*)()/\*(.*)$', lines[i])
    if not m or '/*' in m.group(2) or re.match(r'(\} )?(else|while)\b|\}', m.group(2)) or (i and lines[i - 1].endswith('\\')):
        return None
    text, taken = m.group(3), 1
    while '*/' not in text and i + taken < len(lines):
        text += ' ' + lines[i + taken].strip().removeprefix('* ')
        taken += 1
    if not text.endswith('*/') or '*/' in text[:-2]:
        return None
    text, code = text[:-2].strip(), [m.group(1) + m.group(2)] if m.group(2) else []
    one = m.group(1) + '/* ' + text + ' */'
    if columns(one) <= LIMIT:
        return [one] + code, taken
    rows = textwrap.wrap(text, LIMIT - 12 - columns(m.group(1)))
    return [m.group(1) + '/*'] + [m.group(1) + ' * ' + x for x in rows] + [m.group(1) + ' */'] + code, taken


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


def masked(code):
    """The line with its texts, characters and comments replaced by letters, so that every sign left is code."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|/\*.*?(?:\*/|$)', lambda m: 'x' * len(m.group()), code)


def is_text(line):
    """Is a line too long only by a text?"""
    return columns(re.sub(r'"(?:\\.|[^"\\])*"', '', line)) <= LIMIT * 2 / 3


def indented(width):
    return '\t' * (width // 8) + ' ' * (width % 8)


def cut(lines, i):
    """Line i as two, cut behind the outermost comma or operator that fits, or None."""
    line, end = lines[i], ''
    is_macro = re.match(r'\s*#\s*define\b', line) or (i and lines[i - 1].endswith('\\'))
    if is_macro:
        line, end = line.rstrip('\\').rstrip(), ' \\'
    code, best, depth, opened = masked(line), None, 0, []
    start = columns(line[:len(line) - len(line.lstrip())])
    for at, sign in enumerate(code):
        if sign in ')]}':
            depth -= 1
            opened = opened[:max(depth, 0)]
        elif sign in '([{':
            depth += 1
            opened.append(at)
        m = re.match(r'(,|&&|\|\||[?:|+]|[^=!<>]=|\(|\{) ', code[at:]) if sign in ' ,&|?:+{' or code[at + 1:at + 2] == '=' else None
        if not m or at < len(line) - len(line.lstrip()) + 8:
            continue
        where = at + len(m.group()) - 1
        if (columns(line[:where] + end) > LIMIT and not is_text(line[:where])) or (is_macro and where < len(re.match(r'\s*(#\s*define\s+\S*)?', line).group()) + 1):
            continue
        worth = columns(line[:where]) - 70 * max(depth, 0) - (60 if '=' in m.group() else 25 if m.group()[0] in '?:' else 0)
        if columns(line[:where]) > LIMIT:
            if best is None:
                best = 0, where, list(opened)
            break
        if best is None or worth >= best[0]:
            best = worth, where, list(opened)
    if best is None:
        return None
    _, where, opened = best
    if len(opened) == 1 and line[opened[0]] == '(' and columns(line[:opened[0] + 1]) <= LIMIT / 2:
        indent = columns(line[:opened[0] + 1])
    elif not opened and line[where:].lstrip()[0] == line.lstrip()[0]:
        indent = start
    else:
        previous = lines[i - 1].rstrip() if i else ''
        is_inside = re.search(r'[,(&|?+=]$', previous) and not previous.lstrip().startswith(('/*', '*')) and not line.lstrip().startswith(('{', '[', '.', 'FILE'))
        indent = start + (0 if is_inside else 8)
    new = [line[:where].rstrip() + end, indented(indent) + line[where:].lstrip() + (' \\' if end and lines[i].endswith('\\') else '')]
    return new if columns(new[1]) < columns(lines[i]) else None


def main():
    left = 0
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as f:
            before = lines = f.read().split('\n')
        i = 0
        while i < len(lines):
            if columns(lines[i]) > LIMIT and not is_in_comment(lines, i):
                is_macro = lines[i].lstrip().startswith('#') or lines[i].endswith('\\') or (i and lines[i - 1].endswith('\\'))
                new, taken = comment_above(lines, i) or (None if is_macro else wrapped(path, lines, i), 1)
                new = new or cut(lines, i)
                if new:
                    lines = lines[:i] + new + lines[i + taken:]
                    continue
                if is_text(lines[i]):
                    i += 1
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
