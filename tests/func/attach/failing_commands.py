#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_commands.py UFT SHIM PROGRAM - an allocation of a command that reads files fails: it says so, or prints what it can; it is not killed

The first call of UFT_SITES (default 6; all) of the places in uft that allocate fails, a place in each run; and of the functions in
NEEDED, where a command ended by SIGSEGV or said nothing."""
import os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from failing_sites import Sites, within
from left import fail

uft, shim, program = map(os.path.abspath, sys.argv[1:4])
END_S = 120
COMMANDS = ['report'], ['stat'], ['hist', '-e', 'sched:sched_switch', '-k', 'next_pid'], ['sites', program], ['disas', 'leaf_100', program]
NEEDED = 'read_file', 'bound_zalloc', 'uft_pattern_parse'


def run(sites, name, words):
    r = subprocess.run([uft, *words], env=sites.environment(uft, shim), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=END_S, check=False, cwd=sites.scratch)
    said = r.stderr.decode()
    if r.returncode not in (0, 1) or (r.returncode and not said.rpartition('uft ' + words[0] + ':')[2].strip()):
        fail('%s: status %d: %r' % (name, r.returncode, said))
    if r.returncode and not sites.site and words[0] != 'hist':		# the recording may have no such event
        fail('%s: %s' % (name, said))


with tempfile.TemporaryDirectory() as scratch:
    subprocess.run([uft, 'record', '-q', '-p', 'function', '--sched-switch', '-o', os.path.join(scratch, 'trace.uft'), program], check=False)
    for words in COMMANDS:
        sites = Sites(scratch, 'memory')
        run(sites, words[0] + ': none', words)
        for where in sites.each(6, within(uft, sites.seen(), *NEEDED)):
            run(sites, '%s: memory at %s' % (words[0], where), words)
sys.exit(left.failures != 0)
