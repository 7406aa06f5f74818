#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unwinders.py UFT PROGRAM SCRIPT - unwinders find the callers in a running, unprepared program

PROGRAM (stack_walk.c) makes nested calls and stands, spins or walks its own stack at their end. It is looked at untraced, traced by
each tracer, and when it was left: by backtrace(), by gdb (SCRIPT is for it), by perf with frame pointers and with tables. What
each of them cannot see of a traced program is in doc/design/unprepared.md; here it must not see what is not there. Exit status 0, 1."""
import collections, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, program, script = sys.argv[1:4]
CALLERS = ['inner', 'middle', 'outer', 'main']
SAMPLES = 20			# at least, of half a second of CPU time


class Program:
    def __init__(self):
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=self.out)
        self.pid, self.at = self.p.pid, 0
        self.await_line('done')

    def await_line(self, last):
        """What it says next, up to the line @last."""
        def said():
            return os.pread(self.out.fileno(), 1 << 16, self.at)
        left.wait_for(lambda: said().endswith(last.encode() + b'\n') or self.p.poll() is not None, 'it says ' + last, 60)
        text = said().decode()
        self.at += len(text)
        return text

    def tell(self, byte, last):
        self.p.stdin.write(byte)
        self.p.stdin.flush()
        return self.await_line(last)


def by_backtrace(p):
    """Places: functions that are static have no names for the dynamic linker."""
    return re.findall(r'\((.*)\)', p.tell(b'b', 'done'))


def by_gdb(p, source):
    p.tell(b'g', 'here')
    r = subprocess.run(['gdb', '-nx', '-batch', '-p', str(p.pid), *(['-ex', 'source ' + script] if source else []), '-ex', 'bt'],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if 'Traceback' in r.stdout or 'Python Exception' in r.stdout:
        fail('the script failed: ' + r.stdout)
    names = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(', r.stdout, re.M)
    p.tell(b'x', 'done')
    return names[names.index('stand') + 1:] if 'stand' in names else names


def by_perf(p, how, scratch):
    """The names above spin(), as most samples have them."""
    data, ctl, ack = (os.path.join(scratch, n) for n in ('p.data', 'ctl', 'ack'))
    for fifo in ctl, ack:
        os.mkfifo(fifo)
    r = subprocess.Popen(['perf', 'record', '-q', '-e', 'cpu-clock', '-F', '500', '--call-graph', how, '-o', data, '-D', '-1', '--control',
                          'fifo:%s,%s' % (ctl, ack), '-p', str(p.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(ctl, 'w') as c, open(ack) as a:
        c.write('enable\n')
        c.flush()
        a.readline()
        p.tell(b'p', 'done')
    r.send_signal(2)
    r.wait(60)
    text = subprocess.run(['perf', 'script', '-i', data, '-F', 'ip,sym'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for path in data, ctl, ack:
        os.unlink(path)
    stacks = (re.findall(r'^\s*[0-9a-f]+ (\S+)', s, re.M) for s in re.split(r'\n\s*\n', text))
    counted = collections.Counter(tuple(s[1:]) for s in stacks if s and s[0] == 'spin')
    if sum(counted.values()) < SAMPLES:
        fail('perf --call-graph %s: %d samples in spin()' % (how, sum(counted.values())))
        return []
    names = list(counted.most_common(1)[0][0])
    return names[:names.index('main') + 1] if 'main' in names else names


def can_perf(scratch):
    """Not everywhere may counters be had."""
    return shutil.which('perf') and not subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock', '-g', '-o', os.path.join(scratch, 'x'),
                                                        'true'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def expect(what, have, want):
    if have != want:
        fail('%s: %s instead of %s' % (what, have, want))


def is_as_untraced(p, what, want, perf, source=False):
    expect(what + ', backtrace()', by_backtrace(p), want)
    expect(what + ', gdb', by_gdb(p, source), CALLERS)
    for how in ('fp', 'dwarf') if perf else ():
        expect('%s, perf --call-graph %s' % (what, how), by_perf(p, how, scratch), CALLERS)


def attach(p, text, tracer, *options):
    r = subprocess.Popen([uft, 'attach', '-q', '-p', tracer, '-l', '*', *options, '-o', os.path.join(scratch, 'x.uft'), str(p.pid)],
                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    left.wait_for(lambda: left.is_armed(p.pid, text, r) or r.poll() is not None, tracer + ': attached', 60)
    return r


def leave(p, r, what, before, text):
    r.terminate()
    said = r.communicate(timeout=60)[1]
    if r.returncode or said:
        fail('%s: the recorder ends with %d: %s' % (what, r.returncode, said))
    left.compare('after ' + what, before, left.state(p.pid), left.GROWTH)
    if left.text(p.pid) != text:
        fail('after %s: text has changed' % what)


def run():
    perf = can_perf(scratch)
    if not perf:
        print('perf does not work here: not tried')
    p = Program()
    want = by_backtrace(p)
    is_as_untraced(p, 'untraced', want, perf)
    before, text = left.state(p.pid), left.text(p.pid)
    r = attach(p, text, 'function')
    is_as_untraced(p, 'function', want, perf)
    is_as_untraced(p, 'function', want, False, True)
    leave(p, r, 'function', before, text)
    r = attach(p, text, 'function_graph', '--perf-map')
    is_as_untraced(p, 'function_graph', want, False, True)
    if by_gdb(p, False) == CALLERS:
        fail('function_graph: gdb needs no script')
    if perf:
        # Each traced call returns through its own stub, which has its name; to main() it is outer's.
        expect('function_graph, perf --call-graph fp', by_perf(p, 'fp', scratch)[:4], ['spin'] + CALLERS[:3])
        # The walk takes place elsewhere, where there is no shadow stack: it ends at the first return that is ours, and guesses nothing.
        got = [n for n in by_perf(p, 'dwarf', scratch) if n not in ('spin', '[unknown]')]
        expect('function_graph, perf --call-graph dwarf', got, [])
        os.unlink('/tmp/perf-%d.map' % p.pid)
    leave(p, r, 'function_graph', before, text)
    is_as_untraced(p, 'when it was left', want, perf)
    p.p.stdin.close()
    if p.p.wait(60):
        fail('it ends with status %d' % p.p.returncode)


if not shutil.which('gdb'):
    print('SKIP: gdb is not installed')
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    run()
sys.exit(left.failures != 0)
