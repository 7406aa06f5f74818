#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""detach.py UFT TARGET PLUGIN MODE [WAY] - detach from a program in the middle of MODE: it is as before

The program runs untraced first: its output, descriptors, tasks, signal lines and mappings at its point are what the
traced one must have after the detach, and its output at the end. WAY: how the tracing ends (default: each):
	term	SIGTERM to the recorder		kill	kill -9 of the recorder		detach	uft detach PID
MODE may be several, with commas between. DETACH_FLAGS: what else uft record is told.
Text is compared byte by byte with the files. Exit status 0 all well, 1 not."""
import os, shutil, signal, subprocess, sys, tempfile, time

uft, target, plugin, modes = sys.argv[1:5]
flags = os.environ.get('DETACH_FLAGS', '').split()
ways = sys.argv[5:] or ['term', 'kill', 'detach']
SIGNALS = ('SigIgn', 'SigCgt', 'ShdPnd', 'SigPnd')
WAIT = 60
failures = 0


def fail(what):
    global failures
    failures += 1
    print('FAIL %s %s' % (mode, what))


def read(path):
    with open(path) as f:
        return f.read()


def plain_name(name):
    return 'target' if os.path.basename(name).startswith(('dt-', 'detach-target')) else name


def maps(pid):
    """Bytes mapped by (path, permissions): where, and in how many pieces, is the kernel's business."""
    out = {}
    for line in read('/proc/%d/maps' % pid).splitlines():
        words = line.split(None, 5)
        lo, hi = (int(x, 16) for x in words[0].split('-'))
        key = (plain_name(words[5]) if len(words) > 5 else '', words[1])
        out[key] = out.get(key, 0) + hi - lo
    return sorted((k, 0 if k[0] in ('[stack]', '[heap]') else v) for k, v in out.items())


def wrong_text(pid):
    """Places of executable file mappings that differ from the file."""
    bad = []
    mem = os.open('/proc/%d/mem' % pid, os.O_RDONLY)
    for line in read('/proc/%d/maps' % pid).splitlines():
        words = line.split(None, 5)
        if 'x' not in words[1] or len(words) < 6 or not words[5].startswith('/'):
            continue
        lo, hi = (int(x, 16) for x in words[0].split('-'))
        with open(words[5].replace(' (deleted)', ''), 'rb') as f:
            f.seek(int(words[2], 16))
            want = f.read(hi - lo)
        have = os.pread(mem, hi - lo, lo)[:len(want)]
        if have != want:
            at = next(i for i in range(len(want)) if have[i] != want[i])
            bad.append('%s+%x: %s instead of %s' % (words[5], int(words[2], 16) + at, have[at:at + 8].hex(), want[at:at + 8].hex()))
    os.close(mem)
    return bad


def masks(pid):
    """What each thread blocks all the time: pthread_kill() blocks all signals for a moment (glibc 2.35 and later), fork()
    and handlers do, too. What a detach left blocked stays so."""
    out = {}
    for _ in range(100):
        for tid in os.listdir('/proc/%d/task' % pid):
            lines = read('/proc/%d/task/%s/status' % (pid, tid)).splitlines()
            out[tid] = out.get(tid, ~0) & next(int(l.split()[1], 16) for l in lines if l.startswith('SigBlk'))
        if not any(out.values()):
            break
        time.sleep(0.005)
    return ['%016x' % out[tid] for tid in sorted(out, key=int)]


def state(pid):
    status = dict(l.split(':', 1) for l in read('/proc/%d/status' % pid).splitlines() if ':' in l)
    fds = sorted(int(x) for x in os.listdir('/proc/%d/fd' % pid))
    tasks = len(os.listdir('/proc/%d/task' % pid))
    children = ' '.join(read('/proc/%d/task/%s/children' % (pid, t)) for t in os.listdir('/proc/%d/task' % pid)).split()
    return {'signals': [status[s].strip() for s in SIGNALS], 'blocked': masks(pid), 'fds': fds, 'tasks': tasks, 'maps': maps(pid),
            'tracer': status['TracerPid'].strip(), 'children': len(children) if mode not in ('fork',) else 0}


def wait_for(cond, what):
    end = time.time() + WAIT
    while not cond():
        if time.time() > end:
            fail('%s: not within %d s' % (what, WAIT))
            return False
        time.sleep(0.01)
    return True


def agents_of(pid):
    """Processes that share the memory, or have a file of a session mapped."""
    return 'session.' in read('/proc/%d/maps' % pid)


def start(argv, out, err=subprocess.DEVNULL):
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out, stderr=err, preexec_fn=os.setpgrp)


def output(f):
    return os.pread(f.fileno(), 65536, 0).decode()		# the program writes by the same file position


def go(proc):
    proc.stdin.write(b'xxxx')
    proc.stdin.flush()


def is_ready(f):
    return lambda: output(f).startswith('ready')


def run_plain():
    with tempfile.TemporaryFile() as f:
        p = start([target, mode, plugin], f)
        wait_for(is_ready(f), 'the untraced program is ready')
        time.sleep(0.3)
        s = state(p.pid)
        go(p)
        p.wait()
        p.stdin.close()
        return s, output(f)


def program_of(recorder):
    """The recorder's only child."""
    kids = read('/proc/%d/task/%d/children' % (recorder.pid, recorder.pid)).split()
    return int(kids[0]) if kids else 0


def end_tracing(way, recorder, pid, name, err):
    if way == 'detach':
        r = subprocess.run([uft, 'detach', 'dt-%d' % os.getpid() if mode in ('child', 'fork') else str(pid)], stderr=subprocess.PIPE)
        if r.returncode:
            fail('%s: uft detach says %s' % (name, r.stderr.decode()))
    elif way == 'kill':
        recorder.kill()
    else:
        recorder.terminate()
    status = recorder.wait(WAIT)
    said = output(err)
    if way == 'detach' and status:
        fail('%s: the recorder ended with %d: %s' % (name, status, said))
    if 'remain' in said or 'could not' in said:
        fail('%s: the recorder says %s' % (name, said))


def has_calls(file):
    """The text of a recording has a call; the rest of it is not waited for."""
    with subprocess.Popen([uft, 'report', '--no-pager', file], stdout=subprocess.PIPE) as p:
        found = any(not line.startswith(b'#') and (b' <-' in line or b'()' in line) for line in p.stdout)
        p.stdout.close()
        p.kill()
    return found


def gone(pid):
    try:
        return read('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[0] == 'Z'
    except OSError:
        return True


def run_traced(tracer, way, want, want_out, scratch):
    program = os.path.join(scratch, 'dt-%d' % os.getpid())
    name = '%s %s' % (tracer, way)
    file = os.path.join(scratch, 'detach.uft')
    with tempfile.TemporaryFile() as f, tempfile.TemporaryFile() as err:
        p = start([uft, 'record', '-q', '-p', tracer] + flags + ['-o', file, program, mode, plugin], f, err)
        if not wait_for(is_ready(f), name + ': ready'):
            p.kill()
            return
        time.sleep(0.3)
        pid = program_of(p)
        if not agents_of(pid):
            fail('%s: it is not traced at all' % name)
        end_tracing(way, p, pid, name, err)
        if way == 'kill':
            # Twice: who traces it is read before what is mapped, and the guard stops its threads several times.
            wait_for(lambda: state(pid) == want and state(pid) == want, name + ': the guard has done its work')
        have = state(pid)
        for key in want:
            if have[key] != want[key]:
                a, b = have[key], want[key]
                if key == 'maps':
                    a, b = [x for x in a if x not in b], [x for x in b if x not in a]
                fail('%s: %s: %s instead of %s' % (name, key, a, b))
        for bad in wrong_text(pid):
            fail('%s: text: %s' % (name, bad))
        go(p)
        wait_for(lambda: gone(pid), name + ': the program ends')
        if not gone(pid):
            os.kill(pid, signal.SIGKILL)
        if output(f) != want_out:
            fail('%s: output %r instead of %r' % (name, output(f), want_out))
        p.stdin.close()
        # A target that is killed may have written nothing yet.
        if way != 'kill' and not has_calls(file):
            fail('%s: nothing was recorded' % name)
        if os.path.exists(file):
            os.unlink(file)


with tempfile.TemporaryDirectory() as scratch:
    # A name of its own: other tests run at the same time.
    shutil.copy(target, os.path.join(scratch, 'dt-%d' % os.getpid()))
    for mode in modes.split(','):
        want, want_out = run_plain()
        if not want_out.endswith('end\n'):
            fail('untraced: %r' % want_out)
        for tracer in ('function', 'function_graph'):
            for way in ways:
                run_traced(tracer, way, want, want_out, scratch)
sys.exit(failures != 0)
