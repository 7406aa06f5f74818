#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""forks.py UFT PROGRAM - attach to an unprepared program that makes children all the time, and detach, again and again

Each child calls every function before anything else. None may get stuck in what stands there while code changes."""
import os, shutil, subprocess, sys, tempfile, time

uft, program = sys.argv[1:3]
CYCLES = int(os.environ.get('UFT_CYCLES', '8'))
failures = 0

with tempfile.TemporaryDirectory() as scratch:
    name = os.path.join(scratch, 'forks')
    shutil.copy(program, name)
    p = subprocess.Popen([name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    for i in range(CYCLES):
        tracer = ('function', 'function_graph')[i % 2]
        r = subprocess.Popen([uft, 'attach', '-q', '-p', tracer, '-l', 'plain_*', '-o', os.path.join(scratch, 'f.uft'), str(p.pid)],
                             stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        if r.poll() is not None:
            print('FAIL attach:', r.stderr.read())
            failures += 1
            break
        r.terminate()
        said = r.communicate(timeout=60)[1]
        if 'remain' in said or 'could not' in said:
            print('FAIL cycle %d: %s' % (i, said))
            failures += 1
    p.stdin.close()
    said = p.stdout.read()
    if p.wait(60) or not said.endswith(', 0 stuck\n') or said.startswith('0 '):
        print('FAIL', said)
        failures += 1
    print(said.strip())
sys.exit(failures != 0)
