# SPDX-License-Identifier: MIT
"""left.py - the outside view of a process, and its differences after a detach"""
import ctypes, os, time

SIGNALS = ('SigBlk', 'SigIgn', 'SigCgt')
GROWTH = 8 << 20		# of the anonymous memory of a server, in all: a page left behind by each of many cycles is more
EPOLL_WAIT = '232 '		# of x86-64, as in /proc/PID/syscall
failures = 0


def fail(what):
    global failures
    failures += 1
    print('FAIL ' + what, flush=True)


def read(path):
    with open(path, errors='replace') as f:		# the arguments of a stranger's process may be any bytes
        return f.read()


def complaint(said):
    """The line in which a recorder says that something stayed."""
    words = ('remain', 'put back', 'cannot', 'taken out', 'does not answer')
    return next((l for l in said.splitlines() if any(w in l for w in words)), None)


def recorders(scratch):
    """Ours and its guard, which is a fork of it."""
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            if scratch in read('/proc/%s/cmdline' % p) and int(p) != os.getpid():
                yield int(p)
        except (FileNotFoundError, ProcessLookupError):
            pass


def lines(pid):
    for line in read('/proc/%d/maps' % pid).splitlines():
        w = line.split(None, 5)
        lo, hi = (int(x, 16) for x in w[0].split('-'))
        yield lo, hi, w[1], int(w[2], 16), w[5] if len(w) > 5 else ''


def maps(pid):
    """What is mapped where, of files; pieces that fit together are one. And the bytes of anonymous memory by permission."""
    files, anonymous = [], {}
    for lo, hi, prot, offset, name in lines(pid):
        if not name.startswith('/'):
            if name not in ('[stack]', '[heap]'):
                anonymous[prot] = anonymous.get(prot, 0) + hi - lo
        elif files and files[-1][1] == lo and files[-1][2] == prot and files[-1][3] == name:
            files[-1][1] = hi
        else:
            files.append([lo, hi, prot, name])
    return files, anonymous


def has_text(prot, name):
    """Code that nobody writes, that of the vdso among it."""
    return 'x' in prot and 'w' not in prot and (name.startswith('/') or name == '[vdso]')


def text(pid):
    out = {}
    with open('/proc/%d/mem' % pid, 'rb', 0) as mem:
        for lo, hi, prot, _, name in lines(pid):
            if has_text(prot, name):
                mem.seek(lo)
                out[name] = out.get(name, b'') + mem.read(hi - lo)
    return out


def sharers(pid):
    """Other processes with the same memory: an agent that stayed would be one."""
    kcmp, vm = ctypes.CDLL(None).syscall, 1
    mine = [int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != pid]
    return sorted(p for p in mine if kcmp(312, pid, p, vm, 0, 0) == 0)


def state(pid):
    status = dict(l.split(':', 1) for l in read('/proc/%d/status' % pid).splitlines() if ':' in l)
    tids = os.listdir('/proc/%d/task' % pid)
    files, anonymous = maps(pid)
    return {'signals': [status[s].strip() for s in SIGNALS], 'tracer': status['TracerPid'].strip(), 'tasks': sorted(tids),
            'children': [read('/proc/%d/task/%s/children' % (pid, t)) for t in tids], 'files': files, 'anonymous': anonymous,
            'sharers': sharers(pid), 'fds': sorted(os.listdir('/proc/%d/fd' % pid), key=int)}


def agents(pid):
    """Processes by that name that share its memory: where in it is no mark, programs may lie at the same places (setarch -R)."""
    for p in sharers(pid):
        try:
            if read('/proc/%s/comm' % p) == 'uft-agent\n':
                yield p
        except (FileNotFoundError, ProcessLookupError):
            pass


def has_clients(port):
    """Somebody is connected, or the server has not closed yet what a client left."""
    rows = [l.split() for l in read('/proc/net/tcp').splitlines()[1:]]
    return any(r[1].endswith(':%04X' % int(port)) and r[3] in ('01', '08') for r in rows)


def descriptors(pid):
    for fd in sorted(os.listdir('/proc/%d/fd' % pid), key=int):
        try:
            yield fd, os.readlink('/proc/%d/fd/%s' % (pid, fd))
        except FileNotFoundError:
            pass


def is_attached(pid):
    return 'session.' in read('/proc/%d/maps' % pid)


def is_armed(pid, before, recorder):
    """All is rewritten: something is, and the recorder waits for what happens next, which it does when nothing is left to do."""
    try:
        return is_attached(pid) and text(pid) != before and read('/proc/%d/syscall' % recorder.pid).startswith(EPOLL_WAIT)
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(cond, what, seconds=100):
    end = time.time() + seconds
    while not cond():
        if time.time() > end:
            fail('%s: not within %d s' % (what, seconds))
            return False
        time.sleep(0.005)
    return True


def place(pid):
    """Where each task of a process stands: a line for each."""
    for tid in sorted(os.listdir('/proc/%d/task' % pid), key=int):
        task = '/proc/%d/task/%s/' % (pid, tid)
        try:
            status = dict(l.split(':', 1) for l in read(task + 'status').splitlines() if ':' in l)
            yield '%s %s: %s, parent %s, traced by %s, in %s, system call %s' % (
                tid, status['Name'].strip(), status['State'].strip(), status['PPid'].strip(), status['TracerPid'].strip(),
                read(task + 'wchan') or 'no function', read(task + 'syscall').strip())
        except OSError as e:
            yield '%s: %s' % (tid, e)


def guard_ends(name, scratch, *targets, seconds=60):
    """The recorder of this folder is dead: so is its guard, soon. If not: where it stands, and the targets."""
    if wait_for(lambda: not list(recorders(scratch)), name + ': the guard ends', seconds):
        return True
    for pid in [*recorders(scratch), *targets, *(a for t in targets for a in sharers(t))]:
        try:
            print('\n'.join(place(pid)), flush=True)
        except FileNotFoundError:
            print('%d has ended' % pid, flush=True)
    return False


def turns(f):
    """How much a program has said that writes a line for each turn in which all was well."""
    return os.fstat(f.fileno()).st_size


def goes_on(p, f):
    """It lives, and says so a few times more."""
    want = turns(f) + 4 * 3
    return wait_for(lambda: turns(f) >= want or p.poll() is not None, 'it goes on', 60) and p.poll() is None


def compare(name, before, after, growth):
    for key in before:
        if key != 'anonymous' and before[key] != after[key]:
            fail('%s: %s: %s instead of %s' % (name, key, after[key], before[key]))
    a, b = before['anonymous'], after['anonymous']
    for prot in set(a) | set(b):
        more = b.get(prot, 0) - a.get(prot, 0)
        if more > (growth if 'x' not in prot else 0) or (not growth and more):
            fail('%s: %d bytes more of anonymous memory %s' % (name, more, prot))


def differs_from_file(pid):
    """The files whose code in the process is not theirs."""
    with open('/proc/%d/mem' % pid, 'rb', 0) as mem:
        for lo, hi, prot, offset, name in lines(pid):
            if not has_text(prot, name) or name == '[vdso]':
                continue
            with open('/proc/%d/root%s' % (pid, name), 'rb') as f:
                f.seek(offset)
                want = f.read(hi - lo)
            mem.seek(lo)
            if mem.read(len(want)) != want:
                yield name
