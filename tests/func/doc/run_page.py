#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_page.py - run the commands of a page, and compare their output with that in the page

    run_page.py [--update] PAGE.md

In a block marked ```console a line `$ COMMAND` is run by one bash for the whole page (continued by \\ at line ends), in
a directory with nothing but `build` and `tools` in it, with the built uft first in PATH; the lines up to the next command are its output. Numbers, addresses
and duration marks differ from run to run: they are masked on both sides, and so is the amount of white space. A line
`...` stands for any number of lines. A block marked ```c NAME is written to file NAME, a block with any other mark is
only for readers. Under a line `<!-- rows vary -->` only the first line of an output and the number of lines are
compared. A command whose output the page leaves out entirely must succeed. Exit: 0, 1, or 77 if a line
`<!-- needs: TOOL ... -->` names something that is not here, or a command exits 77: then the rest is left out.

--update writes what was printed into the page, except where it has `...`; a lone `?` asks for the output."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
UFT = os.environ.get("UFT", os.path.join(TOP, "build", "uft"))
MARK = "--uft-page-end-of-command--"


def blocks(page):
    """Yields (mark, line number, lines, whether the rows vary) of each fenced block."""
    mark, lines, start, varies = None, [], 0, False
    for number, line in enumerate(open(page), 1):
        line = line.rstrip("\n")
        if line.startswith("```"):
            if mark is None:
                mark, lines, start = line[3:].strip(), [], number
            else:
                yield mark, start, lines, varies
                mark, varies = None, False
        elif mark is not None:
            lines.append(line)
        elif line == "<!-- rows vary -->":
            varies = True


def steps(lines, start):
    """Yields (line number, command, expected lines, the command's own lines) of a console block."""
    i = 0
    while i < len(lines):
        number, first, command = start + 1 + i, i, lines[i][2:]
        assert lines[i].startswith("$ "), "line %d: expected `$ COMMAND`" % number
        while command.endswith("\\"):
            i += 1
            command = command[:-1] + lines[i].strip()
        i += 1
        source, expected = lines[first:i], []
        while i < len(lines) and not lines[i].startswith("$ "):
            expected.append(lines[i])
            i += 1
        yield number, command, expected, source


def masked(line):
    line = re.sub(r"\x1b\[[0-9;]*[mK]", "", line)
    line = re.sub(r"\b((0x)?[0-9a-f]*[0-9][0-9a-f]*|[0-9a-f]{2})\b", "N", line)
    line = re.sub(r"N[.,](N[.,])*N", "N", line)
    line = re.sub(r"[-+!#*@$]\s+N\s+(us|ns)", r" N \1", line)
    return " ".join(line.split())


def matches(seen, expected):
    """Whether the masked lines fit, with `...` for any number of lines."""
    if not expected:
        return not seen
    if expected[0] == "...":
        return any(matches(seen[i:], expected[1:]) for i in range(len(seen) + 1))
    return bool(seen) and seen[0] == expected[0] and matches(seen[1:], expected[1:])


def fits(seen, expected, varies):
    if varies:
        return bool(seen) and len(seen) == len(expected) and masked(seen[0]) == masked(expected[0])
    return matches([masked(s) for s in seen], [masked(e) for e in expected])


class Shell:
    def __init__(self, directory):
        env = dict(os.environ, PATH=os.path.dirname(UFT) + ":" + os.environ["PATH"], PAGER="cat",
                   UFT_TOP=TOP, UFT_BUILD=os.path.dirname(UFT), LC_ALL="C")
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=directory, env=env, text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")

    def run(self, command):
        self.bash.stdin.write("{ %s\n} </dev/null\necho; echo %s $?\n" % (command, MARK))
        self.bash.stdin.flush()
        seen = []
        for line in self.bash.stdout:
            if line.startswith(MARK):
                if seen and seen[-1] == "":
                    seen.pop()
                return int(line.split()[1]), seen
            seen.append(line.rstrip("\n"))
        return 255, seen


def missing_tools(page):
    for names in re.findall(r"<!-- needs: (.*?) -->", open(page).read()):
        for name in names.split():
            if not shutil.which(name):
                yield name


def run_page(page, directory, update):
    """Returns (commands, failed, is_skipped)."""
    shell, commands, failed, where = Shell(directory), 0, 0, os.path.relpath(page, TOP)
    text, moved = open(page).read().split("\n"), 0
    for mark, start, lines, varies in list(blocks(page)):
        if re.match(r"c \S+$", mark):
            with open(os.path.join(directory, mark.split()[1]), "w") as f:
                f.write("\n".join(lines) + "\n")
        if mark != "console":
            continue
        new = []
        for number, command, expected, source in steps(lines, start):
            commands += 1
            status, seen = shell.run(command)
            if status == 77:
                return commands, failed, True
            is_updated = update and expected and "..." not in expected
            new += source + (seen if is_updated else expected)
            if is_updated or not expected and status == 0:
                continue
            if expected and fits(seen, expected, varies):
                continue
            failed += 1
            print("FAIL: %s:%d: %s" % (where, number, command))
            print("  status %d, printed:\n%s" % (status, "\n".join("  | " + s for s in seen[:60])))
            print("  the page says:\n%s" % "\n".join("  | " + e for e in expected))
        text[start + moved:start + moved + len(lines)] = new
        moved += len(new) - len(lines)
    shell.bash.stdin.close()
    shell.bash.wait()
    if update:
        with open(page, "w") as f:
            f.write("\n".join(text))
    return commands, failed, False


def main():
    update = sys.argv[1] == "--update"
    page = os.path.abspath(sys.argv[-1])
    missing = list(missing_tools(page))
    if missing:
        print("SKIP: %s is not installed" % ", ".join(missing))
        sys.exit(77)
    directory = tempfile.mkdtemp(prefix="uft-page.")
    os.symlink(os.path.dirname(UFT), os.path.join(directory, "build"))
    os.symlink(os.path.join(TOP, "tools"), os.path.join(directory, "tools"))
    try:
        commands, failed, is_skipped = run_page(page, directory, update)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("%d commands, %d failed%s" % (commands, failed, ", then something was missing" if is_skipped else ""))
    sys.exit(1 if failed or not commands else 77 if is_skipped else 0)


main()
