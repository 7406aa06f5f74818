#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cycles.py UFT TARGET [PROGRAM:TRACER...] - attach and detach again and again under load: nothing remains

UFT_CYCLES times (default 10 in each program; make soak: 1000): uft attach, then by turns uft detach, SIGTERM to the recorder, and now and then
kill -9 of it. Two programs: TARGET busy, which checks its own results, and redis-server under redis-benchmark, whose
request totals must be equal. Compared before and after: mappings, descriptors, tasks, children, signal lines, text byte by
byte, the text with its files as well. Exit status 0, 1, or 77 without redis (the first part has run then)."""
import os, shutil, socket, subprocess, sys, tempfile, threading, time

import left
from left import GROWTH, compare, fail, is_attached, state, text, wait_for

uft, target = sys.argv[1:3]
CYCLES = int(os.environ.get('UFT_CYCLES', '10'))


def cycle(i, pid, tracer, name, scratch):
    err = open(os.path.join(scratch, 'err'), 'w+')
    r = subprocess.Popen([uft, 'attach', '-q', '-b', '256K', '-p', tracer, '-o', os.path.join(scratch, 'x.uft'), str(pid)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
    ok = wait_for(lambda: is_attached(pid) or r.poll() is not None, '%s: cycle %d: attached' % (name, i))
    time.sleep(0.02 * (i % 4))
    if i % 10 == 9:
        r.kill()
    elif i % 2:
        r.terminate()
    else:
        d = subprocess.run([uft, 'detach', str(pid)], stderr=subprocess.PIPE)
        if d.returncode:
            r.terminate()		# it came too early, while it was attaching
    try:
        r.wait(60)
    except subprocess.TimeoutExpired:
        fail('%s: cycle %d: the recorder does not end' % (name, i))
        r.kill()
        r.wait()
    err.seek(0)
    bad = left.complaint(err.read())
    if bad:
        fail('%s: cycle %d: %s' % (name, i, bad))
    return wait_for(lambda: not is_attached(pid), '%s: cycle %d: left' % (name, i)) and ok and is_alive(pid, name, i)


def is_alive(pid, name, i):
    if '(zombie)' in left.read('/proc/%d/status' % pid):
        fail('%s: cycle %d: it has ended' % (name, i))
        return False
    return True


def run_cycles(name, pid, tracer, scratch, growth):
    before, code = state(pid), text(pid)
    start = time.time()
    for i in range(CYCLES):
        if not cycle(i, pid, tracer, name, scratch):
            return
        if i % 100 == 99:
            print('%s: %d cycles so far' % (name, i + 1), flush=True)
    if not wait_for(lambda: state(pid)['files'] == before['files'] and (growth or state(pid) == before), name + ': all is gone'):
        pass
    compare(name, before, state(pid), growth)
    after = text(pid)
    if after != code:
        fail('%s: text of %s has changed' % (name, [n for n in code if after.get(n) != code[n]]))
    for file in left.differs_from_file(pid):
        fail('%s: text of %s is not that of the file' % (name, file))
    print('%s, %s: %d cycles, %.0f ms each' % (name, tracer, CYCLES, (time.time() - start) * 1000 / CYCLES), flush=True)


def busy(tracer, scratch):
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
        wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
        run_cycles('busy', p.pid, tracer, scratch, 0)
        p.communicate(b'x')
        got = os.pread(out.fileno(), 100, 0)
        if p.returncode or got != b'ready\n1\nend\n':
            fail('busy: status %d, output %r' % (p.returncode, got))


class Load(threading.Thread):
    """redis-benchmark, one after the other."""
    REQUESTS = 20000

    def __init__(self, port):
        super().__init__()
        self.port, self.is_over, self.runs = port, False, 0

    def run(self):
        while not self.is_over:
            r = subprocess.run(['redis-benchmark', '-p', str(self.port), '-n', str(self.REQUESTS), '-c', '20', '-t', 'set', '-q'],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if r.returncode or b'rror' in r.stdout:
                fail('redis-benchmark: %d %r' % (r.returncode, r.stdout))
                return
            self.runs += 1


def redis_calls(port):
    out = subprocess.run(['redis-cli', '-p', str(port), 'info', 'commandstats'], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout.decode()
    for line in out.split():
        if line.startswith('cmdstat_set:calls='):
            return int(line.split('=')[1].split(',')[0])
    return -1


def redis(tracer, scratch):
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    p = subprocess.Popen(['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--save', '', '--dir', scratch],
                         stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: redis_calls(port) >= -1 and socket.socket().connect_ex(('127.0.0.1', port)) == 0, 'redis: ready')
        subprocess.run(['redis-benchmark', '-p', str(port), '-n', '2000', '-c', '20', '-t', 'set', '-q'], stdout=subprocess.DEVNULL)
        first, load = redis_calls(port), Load(port)
        wait_for(lambda: not left.has_clients(port), 'redis: the clients before are gone')		# redis-cli is one as well
        before, code = state(p.pid), text(p.pid)
        load.start()
        start = time.time()
        for i in range(CYCLES):
            if not cycle(i, p.pid, tracer, 'redis', scratch):
                break
        took = time.time() - start
        load.is_over = True
        load.join()
        calls = redis_calls(port) - first
        if calls != load.runs * load.REQUESTS:
            fail('redis: %d requests were served instead of %d' % (calls, load.runs * load.REQUESTS))
        wait_for(lambda: state(p.pid)['fds'] == before['fds'], 'redis: the clients are gone')
        compare('redis', before, state(p.pid), GROWTH)
        if text(p.pid) != code:
            fail('redis: text has changed')
        for file in left.differs_from_file(p.pid):
            fail('redis: text of %s is not that of the file' % file)
        print('redis, %s: %d cycles, %.0f ms each, %d requests sent and served' % (tracer, CYCLES, took * 1000 / CYCLES, calls))
    finally:
        p.terminate()
        if p.wait():
            fail('redis: it ended with %d' % p.returncode)


parts = sys.argv[3:] or ['busy:function', 'busy:function_graph', 'redis:nop']
with tempfile.TemporaryDirectory() as scratch:
    for part in parts:
        program, tracer = part.split(':')
        if program == 'busy':
            busy(tracer, scratch)
        elif not shutil.which('redis-benchmark'):
            print('skip: no redis-server')
            sys.exit(1 if left.failures else 77)
        else:
            redis(tracer, scratch)
sys.exit(left.failures != 0)
