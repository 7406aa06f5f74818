#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frozen_cgroup.py UFT TARGET - a process whose control group is frozen: said by name at the attach, by uft detach, at the recorder's end

Nothing runs in it meanwhile, our agent as little as the program; when it is thawed it is left, and goes on. Needs the right to make a
control group. Exit status 0, 1, 77."""
import os, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, target = sys.argv[1:3]


class Group:
    """Of the first version, in which a group can be made anywhere."""
    name, value, state, root = 'freezer.state', {True: 'FROZEN', False: 'THAWED'}, 'freezer.state', ['/sys/fs/cgroup/freezer']
    said = {True: 'FROZEN', False: 'THAWED'}

    def __init__(self, pid):
        root = next((r for r in self.root if os.path.exists(os.path.join(r, 'cgroup.procs'))), self.root[0])
        self.dir = os.path.join(root, 'uft-frozen-%d' % os.getpid())
        os.mkdir(self.dir)
        self.heir = self.leave_to_an_heir()
        try:
            self.write('cgroup.procs', str(pid))
        except OSError:
            self.end()
            raise

    def leave_to_an_heir(self):
        """Whoever kills us and our children cannot end one that is frozen (the first version), and waits for it, as it has our pipes:
        a process apart thaws the group and removes it when we have gone, however we did. Returns it, and what tells it that we are here."""
        here, mine = os.pipe()
        pid = os.fork()
        if pid:
            os.close(here)
            return pid, mine
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd, to in enumerate((null, null, null, here)):
            os.dup2(to, fd)
        os.closerange(4, os.sysconf('SC_OPEN_MAX'))
        os.read(3, 1)
        for _ in range(600):
            if self.is_gone():
                break
            time.sleep(0.1)
        os._exit(0)

    def is_gone(self):
        try:
            self.write(self.name, self.value[False])
            os.rmdir(self.dir)
        except OSError:
            pass
        return not os.path.exists(self.dir)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), 'w') as f:
            f.write(text)

    def set(self, is_frozen):
        self.write(self.name, self.value[is_frozen])
        left.wait_for(lambda: self.said[is_frozen] in left.read(os.path.join(self.dir, self.state)), self.said[is_frozen], 60)

    def end(self):
        left.wait_for(lambda: not left.read(os.path.join(self.dir, 'cgroup.procs')), 'the group is empty', 60)
        os.rmdir(self.dir)
        os.close(self.heir[1])
        os.waitpid(self.heir[0], 0)


class Group2(Group):
    """Of the second, alone or beside the first."""
    name, value, state, root = 'cgroup.freeze', {True: '1', False: '0'}, 'cgroup.events', ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']
    said = {True: 'frozen 1', False: 'frozen 0'}


def said_of(group, what, pid, r, words):
    if r.returncode != 1 or r.stderr.count('\n') != 1 or 'process %d ' % pid not in r.stderr or words not in r.stderr or \
       group.dir not in r.stderr:
        fail('%s: status %d, it says %r' % (what, r.returncode, r.stderr))


def detach(p):
    return subprocess.run([uft, 'detach', str(p.pid)], stderr=subprocess.PIPE, text=True, timeout=120)


def in_tree(group, p):
    """A session whose list of processes changes while one is frozen: it is left with the next change."""
    before, code = left.state(p.pid), left.text(p.pid)
    s = subprocess.Popen([uft, 'shell', '--no-mount', 'sh', '-c', 'echo $UFT_SESSION; cat >/dev/null'], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    session = s.stdout.readline().strip()

    def write(name, text):
        return subprocess.run([uft, 'write', '-S', session, name, text], stderr=subprocess.PIPE, text=True, timeout=120).returncode
    if write('set_ftrace_pid', str(p.pid)) or not left.is_attached(p.pid):
        fail('in a session: not attached')
    group.set(True)
    write('set_ftrace_pid', '')
    group.set(False)
    if not left.is_attached(p.pid):
        fail('in a session: left while it was frozen?')
    if write('set_ftrace_pid', ''):
        fail('in a session: the list cannot be emptied again')
    left.compare('in a session', before, left.state(p.pid), 0)
    if left.text(p.pid) != code:
        fail('in a session: text has changed')
    s.communicate(timeout=120)


def run(group, p, scratch):
    before, code = left.state(p.pid), left.text(p.pid)
    cmd = [uft, 'attach', '-q', '-p', 'function', '-b', '64K', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)]
    group.set(True)
    said_of(group, 'attach', p.pid, subprocess.run(cmd, stderr=subprocess.PIPE, text=True, timeout=120), 'is frozen')
    group.set(False)
    r = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    left.wait_for(lambda: left.is_armed(p.pid, code, r) or r.poll() is not None, 'attached', 60)
    group.set(True)
    said_of(group, 'uft detach', p.pid, detach(p), ': it is frozen')
    r.terminate()
    said = r.communicate(timeout=120)[1]
    if 'process %d does not answer, as it is frozen' % p.pid not in said:
        fail('the recorder says %r' % said)
    said_of(group, 'uft detach, of a recorder that has ended', p.pid, detach(p), ': it is frozen')
    group.set(False)
    d = detach(p)
    if d.returncode or d.stderr:
        fail('uft detach, thawed: status %d, %r' % (d.returncode, d.stderr))
    left.compare('left', before, left.state(p.pid), 0)
    if left.text(p.pid) != code:
        fail('text has changed')


def one(kind, scratch, out):
    """0: no such group can be made."""
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    left.wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'ready', 60)
    group = None
    try:
        group = kind(p.pid)
        run(group, p, scratch)
        in_tree(group, p)
    except OSError as e:
        if group:
            raise
        print('skip: no control group can be made:', kind.__doc__, e)
    finally:
        if group:
            group.set(False)
        p.communicate(b'x', 60)
        if group:
            group.end()
    if p.returncode or os.pread(out.fileno(), 100, 0) != b'ready\n1\nend\n':
        fail('busy: status %s' % p.returncode)
    return group is not None


# A run directory of its own, as in other_tracer.py.
tried = 0
for kind in (Group, Group2):
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir='/dev/shm') as run_dir, tempfile.TemporaryFile() as out:
        os.environ['XDG_RUNTIME_DIR'] = run_dir
        tried += one(kind, scratch, out)
sys.exit(left.failures != 0 if tried else 77)
