#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""whole_programs.py UFT WORK - every function of a running program and of its libraries is rewritten and restored: its behaviour does not change

The program works in rounds, each begun by what it reads. Each tracer comes in the middle of a round, sees a whole one when all is
rewritten, and is ended by a SIGINT in the middle of the next; the first and the last round are nobody's. Its output and status are
as if nobody had come, its code is that of its files, each of the libraries was seen at work, and children that fork, ask to
execute or end while the recorder leaves are left as well."""
import os, shutil, signal, subprocess, sys, tempfile

import left
from left import differs_from_file, fail, is_attached, text, wait_for

uft, work = os.path.abspath(sys.argv[1]), sys.argv[2]
unprepared = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'unprepared')
TRACERS = 'function', 'function_graph'
ROUNDS = 2 + 3 * len(TRACERS)


def of(name):
    return os.path.join(unprepared, name)


def sql():
    with open(of('work.sql'), 'rb') as f:
        return b'drop table if exists t;\n' + f.read() + b'.system echo >>marks\n'


# What it is, what a round begins with, how many of its functions can be rewritten at least, and what of each library it calls.
WORKS = {
    'bash': (['bash', '-c', 'while read -r go; do . "$0" </dev/null; echo >>marks; done', of('work.bash')], b'go\n', 3500,
             ('execute_command', 'malloc')),
    'python': (['/usr/bin/python3', '-u', of('rounds.py')], b'go\n', 12000,
               ('PyObject_Call', 'malloc', 'EVP_DigestUpdate', 'SSL_do_handshake', 'sqlite3_step')),
    'sqlite': (['sqlite3', ':memory:'], sql(), 5000, ('malloc', 'sqlite3_step')),
    'stream': (['./stream', 'rounds'], b'go\n', 7000, ('malloc', '__cxa_throw', 'std::ostream::put(char)')),
}


class Program:
    def __init__(self, out):
        open('marks', 'w').close()
        self.begun = 0
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out)

    def begin(self):
        self.p.stdin.write(go)
        self.p.stdin.flush()
        self.begun += 1

    def finish(self):
        wait_for(lambda: os.path.getsize('marks') >= self.begun or self.p.poll() is not None, 'round %d' % self.begun, 60)

    def round(self):
        self.begin()
        self.finish()

    def end(self):
        self.p.stdin.close()
        return self.p.wait(60)


def traced(tracer, program):
    pid, name = program.p.pid, tracer + '.uft'
    known = text(pid)
    program.begin()
    with open(name + '.said', 'wb') as said:
        r = subprocess.Popen([uft, 'record', '-q', '-p', tracer, '--flight', '-b', '16M', '-o', name, '-l', '*', '-l', '*:mod:*',
                              '-P', str(pid)], stderr=said)
    wait_for(lambda: r.poll() is not None or left.is_armed(pid, known, r), tracer + ': all is rewritten', 60)
    program.finish()
    program.round()
    program.begin()
    r.send_signal(signal.SIGINT)
    status = r.wait(60)
    with open(name + '.said') as said:
        words = said.read()
    if status:
        fail('%s: the recorder ends with %d: %s' % (tracer, status, words))
    if 'remain' in words or 'agent' in words:
        fail('%s: not all of the children were left: %s' % (tracer, words))
    program.finish()
    if program.p.poll() is None:
        if is_attached(pid):
            fail(tracer + ': it is still attached')
        for f in differs_from_file(pid):
            fail('%s: code of %s was not put back' % (tracer, f))
    judge(tracer, name)


def judge(tracer, name):
    stat = dict(l.split(': ', 1) for l in subprocess.check_output([uft, 'stat', name], text=True).splitlines() if ': ' in l)
    for key in 'counter_site_refused', 'counter_site_reach', 'counter_lost_return':
        if stat.get(key, '0') != '0':
            fail('%s: %s: %s' % (tracer, key, stat[key]))
    if int(stat['counter_patched']) < least:
        fail('%s: only %s entries were rewritten' % (tracer, stat['counter_patched']))
    report = subprocess.check_output([uft, 'report', '--no-pager', '--profile', '--demangle=full', name], text=True)
    called = {l.split()[-1] for l in report.splitlines() if l.strip()}
    for f in seen:
        if f not in called:
            fail('%s: no call of %s' % (tracer, f))
    print('%s: %s entries, %s calls kept' % (tracer, stat['counter_patched'], stat['calls']))


def run(name, middle):
    with open(name, 'wb') as out:
        program = Program(out)
        program.round()
        middle(program)
        program.round()
        status = program.end()
    with open(name, 'rb') as f:
        return status, f.read()


command, go, least, seen = WORKS[work]
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    if work == 'stream':
        subprocess.check_call([os.environ.get('CXX', 'g++'), '-std=c++17', '-O2', '-w', '-pthread', '-o', 'stream', of('stream.cc')])
    if not shutil.which(command[0]):
        print('SKIP: there is no ' + command[0])
        sys.exit(77)
    want = run('want', lambda program: [program.round() for _ in range(ROUNDS - 2)])
    got = run('got', lambda program: [traced(tracer, program) for tracer in TRACERS])
    if want[0] or not want[1]:
        fail('untraced: status %d, %d bytes' % (want[0], len(want[1])))
    if got != want:
        fail('status %d, output of %d bytes instead of %d, %d' % (got[0], len(got[1]), want[0], len(want[1])))
        sys.stdout.write(got[1].decode(errors='replace')[-2000:])
    os.chdir('/')
sys.exit(left.failures != 0)
