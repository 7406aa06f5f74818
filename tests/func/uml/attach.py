#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach.py UFT NOXSTATE - attach to a kernel that runs as a process while it works, and detach, again and again

UFT_CYCLES times (default 20; make soak: 1000), by turns with its reads and what they call, with its scheduler, and with every function; left by
uft detach, by SIGTERM to the recorder, and now and then by kill -9 of it. The kernel's tasks are stacks it switches between, its
interrupts are signals, its processes are children that it ptraces. The work inside does the same in each round and must
come to the same in each, traced or not; it goes on between the cycles. Compared before and after: mappings, descriptors, tasks,
handled and ignored signals, and the text, with its files as well. Exit status 0, 1, or 77 if it does not boot here."""
import collections, os, re, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../detach'))
import left
from left import fail, is_attached, wait_for

uft, noxstate = (os.path.abspath(p) for p in sys.argv[1:3])
CYCLES = int(os.environ.get('UFT_CYCLES', '20'))
LINES = 6		# of one round
WAYS = (['-p', 'function_graph', '-g', 'vfs_read'], ['-p', 'function', '-l', 'sched*', '-l', '*schedule*'], ['-p', 'function_graph'])
SEEN = ((r'\|  vfs_read\(\) {', r'\|      .*filemap_read\(\) {'), (r': schedule <-',), (r'\|    .*\(\) {',))	# lines, one behind the other
CALLS = (100, 20, 10000)		# at least, in a round
WORK = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t hostfs none /mnt -o SCRATCH || halt -f
exec >/mnt/result 2>&1
cat /proc/kallsyms >/mnt/kallsyms
while [ ! -e /mnt/enough ]; do
	i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; echo "loop $i"
	tar -C /usr/share/common-licenses -cf - . | md5sum
	dd if=/dev/zero bs=64k count=16 2>/dev/null | md5sum
	for i in 1 2; do /bin/echo "child $i"; done
	find /etc/init.d -type f | sort | md5sum
done
echo end
exec >/dev/null 2>&1
halt -f
"""


class Kernel:
    def __init__(self):
        with open('work', 'w') as f:
            f.write(WORK.replace('SCRATCH', os.getcwd()))
        os.chmod('work', 0o755)
        os.mkdir('umldir')
        self.p = subprocess.Popen([noxstate, 'linux.uml', 'mem=256M', 'rootfstype=hostfs', 'rootflags=/', 'ro', 'init=' +
                                   os.path.abspath('work'), 'con=null', 'con0=fd:0,fd:1', 'uml_dir=' + os.path.abspath('umldir'),
                                   'umid=t'], stdin=subprocess.DEVNULL, stdout=open('console', 'w'), stderr=subprocess.STDOUT)
        self.pid = self.p.pid

    def lines(self):
        return left.read('result').splitlines() if os.path.exists('result') else []

    def rounds(self):
        return len(self.lines()) // LINES

    def works_on(self, what, rounds):
        """So many more of them, from now on."""
        now = self.rounds()
        return wait_for(lambda: self.rounds() >= now + rounds or self.p.poll() is not None, what + ': the work inside goes on', 120)

    def state(self):
        """What it blocks changes all the time, and so do its children, and the host's files that programs inside have open."""
        s = left.state(self.pid)
        fds = [(n, to) for n, to in left.descriptors(self.pid) if not to.startswith('/') or to.startswith('/dev/')]
        return dict(s, signals=s['signals'][1:], children=0, fds=fds)

    def stop(self):
        """It halts by itself; if it does not, it is killed, and its children end with it."""
        open('enough', 'w').close()
        try:
            return self.p.wait(120)
        except subprocess.TimeoutExpired:
            self.p.kill()
            return self.p.wait()


def is_seen(patterns):
    """In the text of the recording. What is looked for may come late: a part of the work alone takes megabytes."""
    report = subprocess.Popen([uft, 'report', 'x.uft'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rest = list(patterns)
    for line in report.stdout:
        if re.search(rest[0], line):
            rest.pop(0)
        if not rest:
            break
    report.stdout.close()
    report.wait()
    return not rest


def look_at_recording(i, name):
    got = dict(l.split(': ', 1) for l in subprocess.run([uft, 'stat', 'x.uft'], stdout=subprocess.PIPE, text=True).stdout.splitlines()
               if ': ' in l)
    if got.get('counter_lost_return') != '0':
        fail('%s: %s returns without a call' % (name, got.get('counter_lost_return')))
    if int(got.get('calls', 0)) < CALLS[i % 3] or not is_seen(SEEN[i % 3]):
        fail('%s: %s calls, and not what was looked for' % (name, got.get('calls')))


def recorded():
    return os.path.getsize('x.uft') if os.path.exists('x.uft') else 0


def cycle(i, kernel):
    name = 'cycle %d, %s' % (i, ' '.join(WAYS[i % 3]))
    if os.path.exists('x.uft'):
        os.unlink('x.uft')
    with tempfile.TemporaryFile('w+') as err:
        r = subprocess.Popen([uft, 'attach', '-q', '--symbols', 'kallsyms', '-o', 'x.uft', *WAYS[i % 3], str(kernel.pid)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        ok = wait_for(lambda: is_attached(kernel.pid) or r.poll() is not None, name + ': attached', 60)
        if i < 3:
            ok = wait_for(lambda: recorded() > 50000 or r.poll() is not None, name + ': records', 60) and ok
            ok = kernel.works_on(name, 2) and ok		# what is under way to its end, and a whole one
        else:
            time.sleep(0.05 * (i % 7))		# in the middle of its arming as well
        if i % 6 == 5:
            r.kill()
        elif i % 2 == 0:
            subprocess.run([uft, 'detach', str(kernel.pid)], stderr=subprocess.DEVNULL)
        r.terminate()
        r.wait()
        err.seek(0)
        bad = left.complaint(err.read())
        if bad:
            fail('%s: %s' % (name, bad))
    if not wait_for(lambda: kernel.p.poll() is not None or not is_attached(kernel.pid), name + ': left', 60):
        return False
    if i < 3:
        look_at_recording(i, name)
    return ok and kernel.p.poll() is None


def test(kernel):
    if not wait_for(lambda: kernel.rounds() >= 2 or kernel.p.poll() is not None, 'it boots', 120) or kernel.p.poll() is not None:
        print('SKIP: linux.uml does not boot here untraced: ' + open('console', errors='replace').read()[-300:])
        return 77
    before, text = kernel.state(), left.text(kernel.pid)
    start = time.time()
    for i in range(CYCLES):
        if not cycle(i, kernel):
            fail('stopped after %d cycles' % i)
            break
    took = time.time() - start
    if kernel.p.poll() is None and kernel.works_on('afterwards', 2):
        wait_for(lambda: kernel.state() == before, 'all is as it was', 60)
        left.compare('the kernel', before, kernel.state(), left.GROWTH)
        if left.text(kernel.pid) != text:
            fail('its text has changed')
        for file in left.differs_from_file(kernel.pid):
            fail('text of %s is not that of the file' % file)
    status, lines = kernel.stop(), kernel.lines()
    if status or lines[-1:] != ['end']:
        fail('it ended with %d, its work with %s' % (status, lines[-1:]))
        print('its last words: ' + open('console', errors='replace').read()[-2000:].replace('\0', ''))
    rounds = collections.Counter(tuple(lines[k:k + LINES]) for k in range(0, len(lines) - 1, LINES))
    if len(rounds) != 1:
        fail('not every round came to the same: %s' % rounds)
    print('%d cycles, %.0f ms each, %d rounds of work' % (i + 1, took * 1000 / (i + 1), sum(rounds.values())))
    return 1 if left.failures else 0


if not shutil.which('linux.uml'):
    print('SKIP: linux.uml is not installed')
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    kernel = Kernel()
    try:
        status = test(kernel)
    finally:
        if kernel.p.poll() is None:
            kernel.stop()
        os.chdir('/')
sys.exit(status)
