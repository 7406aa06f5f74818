#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""picture.py - the picture of a session in README.md: runs commands and draws a terminal with what they print

    picture.py BUILD OUT.svg

The commands below run in BUILD/demo, which `make demo` fills; nothing is invented, and long outputs are cut by the
commands themselves. The picture is text in an SVG: no font is embedded, the viewer's monospaced one is used."""
import os
import subprocess
import sys
from xml.sax.saxutils import escape

COMMANDS = [
    "uft record ./lua demo.lua",
    "uft report | head -n 14",
    "uft report --profile --sort self --limit 5",
    "uft report --callees math_abs",
]
COLUMNS, CELL, LINE, MARGIN = 96, 8.4, 18, 18


def output_of(command, directory, path):
    env = dict(os.environ, PATH=path + ":" + os.environ["PATH"], LC_ALL="C", PAGER="cat", NO_COLOR="1")
    done = subprocess.run(["sh", "-c", command], cwd=directory, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        sys.exit("picture.py: %s: exit status %d\n%s" % (command, done.returncode, done.stdout))
    return done.stdout.rstrip("\n").split("\n")


def draw(lines, out):
    """Writes @lines, (class, text) each, as one terminal window."""
    width, height = MARGIN * 2 + COLUMNS * CELL, MARGIN * 2 + 24 + LINE * len(lines)
    out.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" '
              'aria-label="A terminal: uft records a Lua script and prints its call graph">\n' % (width, height, width, height))
    out.write("<style>text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d7dae0;white-space:pre}"
              ".command{fill:#8fd18f;font-weight:bold}.dot{stroke:none}</style>\n")
    out.write('<rect width="100%" height="100%" rx="9" fill="#1d1f24"/>\n')
    for i, colour in enumerate(("#e0645c", "#e3b341", "#5bb462")):
        out.write('<circle class="dot" cx="%d" cy="18" r="6" fill="%s"/>\n' % (MARGIN + 6 + i * 20, colour))
    for i, (kind, text) in enumerate(lines):
        out.write('<text class="%s" x="%d" y="%d" xml:space="preserve">%s</text>\n' % (
            kind, MARGIN, MARGIN + 38 + i * LINE, escape(text)))
    out.write("</svg>\n")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: picture.py BUILD OUT.svg")
    build, top = os.path.realpath(sys.argv[1]), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    demo = os.path.join(build, "demo")
    if not os.path.exists(os.path.join(demo, "lua")):
        sys.exit("picture.py: %s/lua is missing: run `make demo` first" % demo)
    script = os.path.join(demo, "demo.lua")
    with open(os.path.join(top, "tools", "demo.lua")) as source, open(script, "w") as copy:
        copy.write(source.read())
    lines = []
    for command in COMMANDS:
        lines.append(("command", "$ " + command))
        lines += [("output", line[:COLUMNS]) for line in output_of(command, demo, build)] + [("output", "")]
    os.unlink(script)
    with open(sys.argv[2], "w") as out:
        draw(lines[:-1], out)


main()
