#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent_child.py UFT PROGRAM STAND [WAY...] - detach from a fork child that has sent nothing, as from its parent

	term	SIGTERM to the recorder		kill	kill -9 of it: the guard leaves both
	child	uft detach CHILD, then SIGTERM	both	kill -9 of guard and recorder, then uft detach PARENT
	stale	the same, and another recording instead of uft detach
	ended	uft detach CHILD, which ends before the recorder looks at that: it is left, nothing went wrong
	asked	uft detach CHILD, which becomes a target of its own before the recorder looks at that: its calls are kept
	heir	guard and recorder are killed, uft detach PARENT stands in the middle of it, where it naps (STAND is preloaded):
		uft detach CHILD waits for it
	build	guard and recorder are killed: another build refuses and leaves everything to this one
Compared with the same program untraced: mappings (bytes by name and permission) and text, of parent and child, and output."""
import os, signal, subprocess, sys, tempfile, time

uft, program, stand = sys.argv[1:4]
WAIT = 100
failures = 0


def fail(what):
    global failures
    failures += 1
    print('FAIL', what, flush=True)


def maps(pid):
    out = {}
    with open('/proc/%d/maps' % pid) as f:
        for line in f:
            w = line.split(None, 5)
            lo, hi = (int(x, 16) for x in w[0].split('-'))
            key = (w[5].strip() if len(w) > 5 else '', w[1])
            if key[0] not in ('[stack]', '[heap]'):
                out[key] = out.get(key, 0) + hi - lo
    return out


def wrong_text(pid):
    with open('/proc/%d/maps' % pid) as f, open('/proc/%d/mem' % pid, 'rb', 0) as mem:
        for line in f:
            w = line.split(None, 5)
            if 'x' in w[1] and len(w) > 5 and w[5].startswith('/'):
                lo, hi = (int(x, 16) for x in w[0].split('-'))
                with open(w[5].strip(), 'rb') as file:
                    file.seek(int(w[2], 16))
                    want = file.read(hi - lo)
                mem.seek(lo)
                if mem.read(hi - lo)[:len(want)] != want:
                    return w[5].strip()
    return None


def start(argv):
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pids = [int(x) for x in p.stdout.readline().split()]
    for pid, where in zip(pids, ('0 ', '130 ')):		# read, rt_sigsuspend: nothing more is called until it is told
        wait_for(lambda: open('/proc/%d/syscall' % pid).read().startswith(where), 'process %d waits' % pid)
    return p, pids


def ours(name, pid):
    """The processes by that name that have the session's file mapped that this one has."""
    path = next(l.split(None, 5)[5].strip() for l in open('/proc/%d/maps' % pid) if l.endswith('.b\n') and 'session.' in l)
    for e in os.listdir('/proc'):
        try:
            if open('/proc/%s/comm' % e).read() == name + '\n' and path in open('/proc/%s/maps' % e).read():
                yield int(e)
        except OSError:
            pass


def end(way, p, pids, scratch):
    if way == 'child':
        r = subprocess.run([uft, 'detach', str(pids[1])], stderr=subprocess.PIPE, text=True)
        if r.returncode:
            fail('uft detach CHILD says ' + r.stderr)
        if 'session.' in open('/proc/%d/maps' % pids[1]).read() or 'session.' not in open('/proc/%d/maps' % pids[0]).read():
            fail('uft detach CHILD left the wrong one')
    if way in ('term', 'child'):
        p.terminate()
        return
    if way in ('both', 'stale'):
        os.kill(next(ours('uft-guard', pids[0])), 9)
    p.kill()
    if way in ('both', 'stale'):
        wait_for(lambda: not list(ours('uft-agent', pids[0])), way + ': the agents end')
    if way == 'both':
        r = subprocess.run([uft, 'detach', str(pids[0])], stderr=subprocess.PIPE, text=True)
        if r.returncode:
            fail('uft detach PARENT says ' + r.stderr)
    if way == 'stale':
        subprocess.run([uft, 'record', '-q', '-o', os.path.join(scratch, 'o.uft'), program], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)


def check(way, tracer, want, want_out):
    with tempfile.TemporaryDirectory() as scratch:
        p, pids = start([uft, 'record', '-q', '-p', tracer, '-o', os.path.join(scratch, 's.uft'), program])
        if any('session.' not in open('/proc/%d/maps' % pid).read() for pid in pids):
            fail('%s: not traced at all' % way)
        end(way, p, pids, scratch)
        limit = time.time() + WAIT
        while any(maps(pid) != w for pid, w in zip(pids, want)) and time.time() < limit:
            time.sleep(0.02)
        for who, pid, w in zip(('parent', 'child'), pids, want):
            have = maps(pid)
            if have != w:
                fail('%s %s: %s: %s' % (way, tracer, who, sorted(set(have.items()) ^ set(w.items()))))
            if wrong_text(pid):
                fail('%s %s: %s: text of %s' % (way, tracer, who, wrong_text(pid)))
        p.stdin.write('x')
        p.stdin.close()
        out = p.stdout.read()
        if out != want_out:
            fail('%s %s: output %r' % (way, tracer, out))
        p.wait()
        said = p.stderr.read()
        if 'remain' in said:
            fail('%s %s: %s' % (way, tracer, said))


def wait_for(cond, what):
    limit = time.time() + WAIT
    while not cond():
        if time.time() > limit:
            return fail(what)
        time.sleep(0.01)


def check_ended(tracer):
    with tempfile.TemporaryDirectory() as scratch:
        p, pids = start([uft, 'record', '-q', '-p', tracer, '-o', os.path.join(scratch, 's.uft'), program])
        p.send_signal(signal.SIGSTOP)
        wait_for(lambda: stands(p), 'ended: the recorder stands')
        d = subprocess.Popen([uft, 'detach', str(pids[1])], stderr=subprocess.PIPE, text=True)
        wait_for(lambda: open('/proc/%d/syscall' % d.pid).read().startswith('202 '), 'ended: uft detach has asked')	# futex
        os.kill(pids[1], signal.SIGKILL)
        wait_for(lambda: ') Z ' in open('/proc/%d/stat' % pids[1]).read(), 'ended: the child has')
        p.send_signal(signal.SIGCONT)
        said = d.communicate(timeout=WAIT)[1]
        if d.returncode:
            fail('ended %s: uft detach CHILD says %s' % (tracer, said))
        p.communicate('x', timeout=WAIT)


def check_asked(tracer, want):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 's.uft')
        p, pids = start([uft, 'record', '-q', '-p', tracer, '-o', path, program, 'twice'])
        p.send_signal(signal.SIGSTOP)
        wait_for(lambda: stands(p), 'asked: the recorder stands')
        d = subprocess.Popen([uft, 'detach', str(pids[1])], stderr=subprocess.PIPE, text=True)
        wait_for(lambda: open('/proc/%d/syscall' % d.pid).read().startswith('202 '), 'asked: uft detach has asked')	# futex
        os.kill(pids[1], signal.SIGUSR1)
        # Its words reach the recorder in a later place of the mailbox than the question.
        wait_for(lambda: len(list(ours('uft-agent', pids[0]))) == 2 and
                 open('/proc/%d/syscall' % pids[1]).read().startswith('130 '), 'asked: the child has called and waits')
        p.send_signal(signal.SIGCONT)
        said = d.communicate(timeout=WAIT)[1]
        if d.returncode:
            fail('asked %s: uft detach CHILD says %s' % (tracer, said))
        if maps(pids[1]) != want[1] or wrong_text(pids[1]):
            fail('asked %s: the child is not as it was' % tracer)
        os.kill(pids[1], signal.SIGUSR1)
        out = p.communicate('x', timeout=WAIT)[0]
        if 'child 46' not in out:
            fail('asked %s: output %r' % (tracer, out))
        calls = subprocess.run([uft, 'report', path], stdout=subprocess.PIPE, text=True).stdout
        # the parent's two and the child's ten
        n = sum('work' in l.replace('work/', '') for l in calls.splitlines() if not l.startswith('#'))
        if n != 12:
            fail('asked %s: %d calls instead of 12' % (tracer, n))


def orphaned(tracer, scratch):
    p, pids = start([uft, 'record', '-q', '-p', tracer, '-o', os.path.join(scratch, 's.uft'), program])
    os.kill(next(ours('uft-guard', pids[0])), 9)
    p.kill()
    wait_for(lambda: not list(ours('uft-agent', pids[0])), 'the agents end')
    return p, pids


def detach(pid, exe=uft, env=None):
    return subprocess.Popen([exe, 'detach', str(pid)], stderr=subprocess.PIPE, text=True, env=env)


def stands(p):
    return ') T ' in open('/proc/%d/stat' % p.pid).read()


def is_napping(p):
    return open('/proc/%d/syscall' % p.pid).read().startswith('230 ')


def finish(way, p, pids, want, want_out):
    for pid, w in zip(pids, want):
        if maps(pid) != w or wrong_text(pid):
            fail('%s: %s, text of %s' % (way, sorted(set(maps(pid).items()) ^ set(w.items())), wrong_text(pid)))
    p.stdin.write('x')
    p.stdin.close()
    if p.stdout.read() != want_out:
        fail('%s: output' % way)
    p.wait()


def check_heir(tracer, want, want_out):
    with tempfile.TemporaryDirectory() as scratch:
        p, pids = orphaned(tracer, scratch)
        heir = detach(pids[0], env=dict(os.environ, LD_PRELOAD=stand))		# it naps until those just born are there
        wait_for(lambda: stands(heir) or heir.poll() is not None, 'heir: at work')
        if not all('session.' in open('/proc/%d/maps' % pid).read() for pid in pids):
            fail('heir %s: it is not in the middle of it' % tracer)
        other = detach(pids[1])
        wait_for(lambda: other.poll() is not None or is_napping(other), 'heir: it is waited for')	# it asks nobody, who would not answer
        heir.send_signal(signal.SIGCONT)
        for d in (heir, other):
            said = d.communicate(timeout=60)[1]
            if d.returncode:
                fail('heir %s: uft detach says %s' % (tracer, said))
        finish('heir ' + tracer, p, pids, want, want_out)


def check_build(tracer, want, want_out):
    """Of another build is one whose runtime differs: here by a name."""
    with tempfile.TemporaryDirectory() as scratch:
        with open(uft, 'rb') as f:
            image = f.read()
        other = os.path.join(scratch, 'other')
        with open(other, 'wb') as f:
            f.write(image.replace(b'uft-agent', b'uft-other'))
        os.chmod(other, 0o755)
        p, pids = orphaned(tracer, scratch)
        d = detach(pids[0], other)
        said = d.communicate(timeout=60)[1]
        if d.returncode != 1 or 'another build of uft' not in said or os.path.realpath(uft) not in said or said.count('\n') != 1:
            fail('build %s: status %d, %s' % (tracer, d.returncode, said))
        # It records for itself, and takes nothing over.
        if subprocess.run([other, 'record', '-q', '-o', scratch + '/o.uft', 'true'], stdin=subprocess.DEVNULL).returncode:
            fail('build %s: the other does not record' % tracer)
        d = detach(pids[0])
        said = d.communicate(timeout=60)[1]
        if d.returncode or said:
            fail('build %s: the same build says %s' % (tracer, said))
        finish('build ' + tracer, p, pids, want, want_out)


# A run directory of its own: whoever records beside us cleans up what the dead have left.
run = tempfile.TemporaryDirectory(dir='/dev/shm')
os.environ['XDG_RUNTIME_DIR'] = run.name
p, pids = start([program])
want = [maps(pid) for pid in pids]
p.stdin.write('x')
p.stdin.close()
want_out = p.stdout.read()
p.wait()
for way in sys.argv[4:] or ('term', 'kill', 'child', 'both', 'stale', 'ended', 'asked', 'heir', 'build'):
    for tracer in ('function', 'function_graph'):
        if way == 'ended':
            check_ended(tracer)
        elif way == 'asked':
            check_asked(tracer, want)
        elif way in ('heir', 'build'):
            (check_heir if way == 'heir' else check_build)(tracer, want, want_out)
        else:
            check(way, tracer, want, want_out)
sys.exit(failures != 0)
