#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""awk_programs.py TOP - every awk that is installed takes every awk program of the shell scripts under TOP

gawk has more reserved words than mawk, busybox has others: `-v case=` is an error of one and fine in the next, and the script
around it sees only that its check failed. Each program runs here under each awk with all its -v assignments, without input; an END in front
of it ends it before it does anything.
"""
import os
import re
import shutil
import subprocess
import sys

AWKS = (['gawk'], ['mawk'], ['original-awk'], ['busybox', 'awk'])


def scripts(top):
    for folder in ('tests', 'tools', 'bench'):
        for where, dirs, names in os.walk(os.path.join(top, folder)):
            dirs[:] = [d for d in dirs if d not in ('mutations', 'tree')] if where.endswith(('tests', 'golden')) else dirs
            for name in sorted(names):
                path = os.path.join(where, name)
                if name.endswith('.sh'):
                    with open(path, encoding='utf-8') as f:
                        yield path, f.read()


def word(text, at):
    """The shell word at @at: its value where the shell puts in nothing, `0` for each expansion; and its end."""
    out = ''
    while at < len(text) and text[at] not in ' \t\n;|&<>()':
        c = text[at]
        if c == "'":
            end = text.index("'", at + 1)
            out += text[at + 1:end]
            at = end + 1
        elif c == '"':
            at += 1
            while text[at] != '"':
                if text[at] == '\\':
                    out += text[at + 1] if text[at + 1] in '"\\$`\n' else text[at:at + 2]
                    at += 2
                elif text[at] == '$':
                    out, at = out + '0', expansion(text, at)
                else:
                    out += text[at]
                    at += 1
            at += 1
            if re.match(r"'\s", text[at:at + 2]):        # the end of a script that is quoted itself
                break
        elif c == '\\':
            out += text[at + 1]
            at += 2
        elif c == '$':
            out, at = out + '0', expansion(text, at)
        else:
            out += c
            at += 1
    return out, at


def expansion(text, at):
    """The end of the $x, ${x}, $(x) at @at."""
    if text[at + 1] in '({':
        close = {'(': ')', '{': '}'}[text[at + 1]]
        depth, k, quoted = 0, at + 1, False
        while True:
            if text[k] == "'" and text[at + 1] == '(':
                quoted = not quoted
            elif not quoted and text[k] == text[at + 1]:
                depth += 1
            elif not quoted and text[k] == close:
                depth -= 1
            k += 1
            if not depth:
                return k
    return re.compile(r'\$(\w+|.)').match(text, at).end()


def programs(text):
    """(line, arguments, program) of each awk in a script."""
    for m in re.finditer(r'(?:^|[\s|(;])awk[ \t]+', text):
        start = text.rfind('\n', 0, m.end()) + 1
        before = text[start:m.start() + 1]
        if '#' in before and before.count('"') % 2 == 0 and before.count("'") % 2 == 0 and '$(' not in before:
            continue
        args, at = [], m.end()
        while True:
            value, at = word(text, at)
            if value in ('-v', '-F', '-f'):
                at += len(text[at:]) - len(text[at:].lstrip(' \t'))
                more, at = word(text, at)
                args += [value, more]
            elif value.startswith('-'):
                args.append(value)
            else:
                break
            at += len(text[at:]) - len(text[at:].lstrip(' \t'))
        yield text.count('\n', 0, m.start()) + 1, args, value


def main(top):
    awks = [a for a in AWKS if shutil.which(a[0])] or [['awk']]
    found = failed = 0
    for path, text in scripts(top):
        for line, args, program in programs(text):
            found += 1
            for awk in awks:
                r = subprocess.run(awk + args + ['BEGIN { exit 0 } END { exit 0 } ' + program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=dict(os.environ, LC_ALL='C'))
                if r.returncode or r.stdout:
                    failed += 1
                    print('%s:%d: %s: %s' % (os.path.relpath(path, top), line, ' '.join(awk), r.stdout.decode(errors='replace').strip()))
    print('%d awk programs under %s' % (found, ', '.join(' '.join(a) for a in awks)))
    return 1 if failed or found < 100 else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
