#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""confined_children.py UFT PROGRAM - children that a filter confines outlive each attach to their parent and its end"""
import os, subprocess, sys, tempfile

uft, program = sys.argv[1:3]
if os.geteuid():
    print('skip: not root')
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    said = ''
    for i in range(int(os.environ.get('UFT_CYCLES', '8'))):
        tracer = ('function', 'function_graph')[i % 2]
        r = subprocess.run([uft, 'attach', '-q', '--duration', '200ms', '-p', tracer, '-o', os.path.join(scratch, 'x.uft'), str(p.pid)],
                           stderr=subprocess.PIPE, text=True)
        said += r.stderr
    out = p.communicate('x')[0]
    if p.returncode == 77:
        sys.exit(77)
    print(out, said)
    sys.exit(p.returncode != 0 or not out.endswith(', 0 killed\n') or out.startswith('0 '))
