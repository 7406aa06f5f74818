#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py SOURCES OUT - makes a mutant of each guard that is tagged in the sources

A tag is a comment behind the guard, `/* GUARD(name) */` or `/* GUARD(name, VALUE) */`; a comment may hold several. A mutant is the file with
what stands before the tag on its line replaced:

    if (CONDITION) /* GUARD */      the condition becomes VALUE, or 0
    return X; /* GUARD */           X becomes VALUE, or 0
    TYPE X = Y; /* GUARD */         Y becomes VALUE, or 0
    X = Y; /* GUARD(n, VALUE) */    Y becomes VALUE, unless VALUE is a statement
    statement; /* GUARD */          VALUE, or nothing
    #define X Y /* GUARD */         Y becomes VALUE, or 0
    ELEMENT, /* GUARD */            of a list: VALUE, or left out
    TERM && /* GUARD */             the term becomes VALUE, or what decides nothing: 1 beside &&, 0 beside || and else
    TERM /* GUARD */                the same: back to the parenthesis, comma, operator or keyword before it
    instruction /* GUARD */         in assembly: VALUE, or left out; the same in a meson.build, after #

A tag on a line of its own is about the whole condition or statement below it, be it several lines.
A name that stands several times in a file is one guard: all its places are replaced. OUT/NAME is then the mutant, OUT/NAME.path its file;
OUT/NAME.rot says why there is none. Used by run.sh.
"""
import os
import re
import sys

FOLDERS = "runtime control stream tree symbol program output cmd view hist include".split()
GUARD = re.compile(r'GUARD\(([a-z0-9_]+)(?:, (.*?))?\)(?= GUARD\(| \*/|$)', re.M)
COMMENT = re.compile(r'[ \t]*/\* GUARD\(.*?\) \*/')


def closing(text, start):
    """Where the parenthesis that opens at start closes, or -1."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if not depth:
            return i
    return -1


def term_start(text):
    """Where the term begins that text ends with, and what stands before it."""
    depth, i = 0, len(text) - 1
    while i >= 0:
        c = text[i]
        if c in ')]}':
            depth += 1
        elif c in '([{':
            if not depth:
                return i + 1, c
            depth -= 1
        elif not depth:
            if text[i - 1:i + 1] in ('&&', '||'):
                return i + 1, text[i - 1:i + 1]
            if c in ',?:;' or (c == '=' and text[i - 1] not in '=!<>' and text[i + 1:i + 2] != '='):
                return i + 1, c
            if re.search(r'(?<!\w)return$', text[:i + 1]):
                return i + 1, 'return'
        i -= 1
    return len(text) - len(text.lstrip()), ''


def without(text, value, after, above=''):
    """What stands before a tag, text, as the mutant has it. after: what stands behind the tag; above: the line above."""
    end = len(text.rstrip())
    code, space = text[:end], text[end:]
    indent = code[:len(code) - len(code.lstrip())]
    define = re.match(r'\s*#\s*define\s+\w+\s+', code)
    if define:
        return define.group() + (value or '0') + space
    block = ' {' if re.search(r'\) \{$', code) else ''
    bare = code[:len(code) - len(block)]
    word = re.search(r'(?:^|\s)(?:if|while) (\()', bare)
    if word and closing(bare, word.start(1)) == len(bare) - 1:
        return bare[:word.end()] + (value or '0') + ')' + block + space
    if code.endswith(';') and value and re.match(r'return\b|continue$|\(void\)|__asm__|[^(]+ = |\w+\+\+', value):
        return indent + value + ';' + space
    if code.endswith(';'):
        start = re.match(r'\s*(?:\w+ )*return(?= )', code)
        if start:
            return start.group() + ' ' + (value or '0') + ';' + space
        start = re.match(r'\s*[^;]*?(?<![=!<>])=(?!=)', code)
        if start and (value or re.match(r'\s*(?:const |static )*(?:struct |enum )?\w+ \**\w+ =$', start.group())):
            return start.group() + ' ' + (value or '0') + ';' + space
        return indent + (value or '') + ';' + space
    if code.endswith(','):
        start = term_start(code[:-1])[0]
        return code[:start] + (' ' + value + ',' if value else '') + space
    tail = next((t for t in (' &&', ' ||', ' ?') if code.endswith(t)), '')
    bare = code[:len(code) - len(tail)]
    start, before = term_start(bare)
    is_first = not bare[:start].strip()
    beside = {before, tail.strip(), after.lstrip()[:2], COMMENT.sub('', above).rstrip()[-2:] if is_first else ''}
    neutral = '1' if '&&' in beside else '0'
    gap = '' if bare[start - 1:start] in ('(', '\t') or start == len(indent) else ' '
    return bare[:start] + gap + (value or neutral) + tail + space


def take_whole(lines, i):
    """The condition or statement that begins on line i, as one line, and how many lines it has; lines of comments above it stay."""
    text, n = '', 0
    while i + n < len(lines) and n < 12:
        text += (' ' if text else '') + (lines[i + n].strip() if text else lines[i + n].rstrip())
        n += 1
        code = re.sub(r'\s*/\*.*?\*/', '', text)
        opened = code.count('(') - code.count(')')
        if not opened and (code.endswith((';', ',')) or re.search(r'(?:^|\s)(?:if|while) \(.*\)(?: \{)?$', code) or
                           code.lstrip().startswith('#')):
            return code, n
    return None, 0


def mutate(lines, name, is_c):
    """The lines without the guard, or None if a place has nothing that its tag is about."""
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        i += 1
        found = next((g for g in GUARD.finditer(line) if g.group(1) == name), None)
        if not found:
            out.append(line)
            continue
        value = found.group(2)
        at = max(line.rfind('/*', 0, found.start()), -1 if is_c else line.rfind('#', 0, found.start()))
        if is_c and not COMMENT.sub('', line).strip():
            before, n = take_whole(lines, i)
            if not before:
                return None
            i += n
            changed, rest = without(before, value, ''), ''
        elif is_c:
            before = COMMENT.sub('', line[:at] + '/* GUARD() */')
            changed, rest = without(before + ' ', value, line[line.index('*/', at) + 2:], lines[i - 2]), line[at:]
        else:
            before, rest = line[:at].rstrip(), line[at:]
            changed = re.match(r'\s*', line).group() + (value or '') + ' '
        if not before.strip() or changed.strip() == before.strip():
            return None
        out.append(changed + rest)
    return out


def main():
    top, out = sys.argv[1:]
    places = {}
    for folder in FOLDERS:
        for base, _, names in os.walk(os.path.join(top, folder)):
            for path in (os.path.join(base, n) for n in names if n.endswith(('.c', '.h', '.S')) or n == 'meson.build'):
                with open(path, encoding='utf-8') as f:
                    text = f.read()
                for guard in GUARD.finditer(text) if 'GUARD(' in text else ():
                    places.setdefault(guard.group(1), {})[path] = text
    for name, files in places.items():
        (path, text), rot = next(iter(files.items())), None
        lines = text.split('\n')
        is_c = path.endswith('.c') or (path.endswith('.h') and '.macro' not in text)
        mutant = mutate(lines, name, is_c)
        if len(files) > 1:
            rot = 'the tag stands in several files'
        elif not mutant:
            rot = 'the tag is about nothing'
        with open(os.path.join(out, name + '.path'), 'w', encoding='utf-8') as f:
            f.write(os.path.relpath(path, top))
        with open(os.path.join(out, name + ('.rot' if rot else '')), 'w', encoding='utf-8') as f:
            f.write(rot or '\n'.join(mutant))


main()
