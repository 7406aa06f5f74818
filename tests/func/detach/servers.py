#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""servers.py UFT SERVER:TRACER... - attach to Debian's redis-server, nginx, postgres, memcached and sshd under load, and detach, again and again

UFT_CYCLES times each (default 12; make soak: 1000): all processes of a server are attached to, with its own functions, with
malloc, with all of libc by turns; then left by uft detach, by SIGTERM to the recorder, and now and then by kill -9 of it. The
clients (redis-benchmark, ab, pgbench with connections that stay and with one for each transaction, which postgres forks for, a
client of memcached's text protocol, ssh) must see no error, and the server must have counted what they sent. Of each process that lives all the while mappings, descriptors,
tasks, children, signal lines and text are compared before and after, the text with its files as well. Exit status 0, 1, or 77 if
a server is not installed."""
import glob, os, pwd, shutil, signal, socket, subprocess, sys, tempfile, threading, time

import left
from left import fail, is_attached, wait_for

uft = sys.argv[1]
CYCLES = int(os.environ.get('UFT_CYCLES', '12'))
FILTERS = ([], ['-l', 'malloc:mod:libc*', '-l', 'free:mod:libc*'], ['-l', '*', '-l', '*:mod:libc*'])


def run(*args, **kw):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return str(s.getsockname()[1])


class Load(threading.Thread):
    """One client program after the other; each must end well and say what it did."""

    def __init__(self, is_good, *args):
        super().__init__()
        self.is_good, self.args, self.is_over, self.runs = is_good, args, False, 0

    def run(self):
        while not self.is_over:
            r = run(*self.args)
            if r.returncode or not self.is_good(r.stdout):
                fail('%s: %d %s' % (' '.join(self.args), r.returncode, r.stdout[-1500:]))
                return
            self.runs += 1


class Server:
    """name, start() -> Popen, loads() -> what clients do, served() -> requests that it counted"""
    MAY_SAY = None				# of what may remain in a process that ends by itself

    def __init__(self, scratch):
        self.scratch, self.port = scratch, free_port()
        os.chmod(scratch, 0o755)

    def state(self, pid):
        """As left.state(), without the server's own data files, which it opens as it pleases."""
        s = left.state(pid)
        s['fds'] = [(n, to) for n, to in left.descriptors(pid) if self.scratch + '/data/' not in to]
        return s

    def tree(self):
        """The process and its children, those that clients caused included."""
        pids = run('ps', '-o', 'pid=', '--ppid', str(self.p.pid)).stdout.split()
        return [self.p.pid] + [int(p) for p in pids]

    def has_settled(self):
        """Nobody is connected, and who served clients has gone: has no command line, or one that names the client."""
        if left.has_clients(self.port):
            return False
        try:
            return all(line and '127.0.0.1(' not in line for line in (left.read('/proc/%d/cmdline' % p) for p in self.tree()))
        except FileNotFoundError:
            return False

    def settle(self):
        wait_for(lambda: self.has_settled() and self.tree() == self.tree(), self.NAME + ': the clients are gone')

    def is_up(self):
        with socket.socket() as s:
            return s.connect_ex(('127.0.0.1', int(self.port))) == 0

    def stop(self):
        self.p.send_signal(self.END)
        status = self.p.wait()
        if status:
            fail('%s: it ended with %d' % (self.NAME, status))


class Redis(Server):
    NAME, NEEDS, END, REQUESTS = 'redis', ('redis-server', 'redis-benchmark', 'redis-cli'), signal.SIGTERM, 20000

    def start(self):
        self.p = subprocess.Popen(['redis-server', '--port', self.port, '--bind', '127.0.0.1', '--save', '', '--dir',
                                   self.scratch], stdout=subprocess.DEVNULL)

    def loads(self):
        return [Load(lambda out: 'rror' not in out, 'redis-benchmark', '-p', self.port, '-n', str(self.REQUESTS), '-c', '20', '-q',
                     'incr', 'counter')]

    def served(self):
        return int(run('redis-cli', '-p', self.port, 'get', 'counter').stdout or 0)


class Nginx(Server):
    NAME, NEEDS, END, REQUESTS = 'nginx', ('nginx', 'ab'), signal.SIGQUIT, 2000

    def start(self):
        s = self.scratch
        os.mkdir(s + '/www')
        with open(s + '/www/index.html', 'w') as f:
            f.write('hello\n' * 2000)
        with open(s + '/conf', 'w') as f:
            f.write('daemon off; pid %s/pid; error_log %s/error; worker_processes 2; events { worker_connections 256; }\n' % (s, s) +
                    'http { access_log %s/access; server { listen 127.0.0.1:%s; root %s/www; }\n' % (s, self.port, s) +
                    ''.join('%s_temp_path %s/%s;' % (t, s, t) for t in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')) + '}\n')
        self.p = subprocess.Popen(['nginx', '-p', s, '-c', s + '/conf', '-e', s + '/error'])

    def loads(self):
        def is_good(out):
            return 'Complete requests:      %d\nFailed requests:        0\n' % self.REQUESTS in out and 'Non-2xx' not in out
        url = 'http://127.0.0.1:%s/index.html' % self.port
        return [Load(is_good, 'ab', '-q', *keep, '-n', str(self.REQUESTS), '-c', '8', url) for keep in ([], ['-k'])]

    def served(self):
        with open(self.scratch + '/access') as f:
            return sum(1 for _ in f)


class Postgres(Server):
    NAME, END, REQUESTS = 'postgres', signal.SIGINT, 400
    NEEDS = ('initdb', 'postgres', 'pgbench', 'psql')

    def start(self):
        who = dict(user='postgres', group='postgres', extra_groups=[]) if os.getuid() == 0 else {}
        data = self.scratch + '/data'
        if who:
            os.chown(self.scratch, pwd.getpwnam('postgres').pw_uid, -1)
        r = run('initdb', '-N', '-D', data, '-A', 'trust', '-U', 'test', '--no-locale', '-E', 'UTF8', cwd='/', **who)
        if r.returncode:
            fail('initdb: ' + r.stdout)
        self.p = subprocess.Popen(['postgres', '-D', data, '-p', self.port, '-h', '127.0.0.1', '-k', '', '-F',
                                   '-c', 'autovacuum=off'], stdout=subprocess.DEVNULL, stderr=open(self.scratch + '/log', 'w'),
                                  cwd='/', **who)

    def sql(self, text):
        return run('psql', '-X', '-A', '-t', '-h', '127.0.0.1', '-p', self.port, '-U', 'test', '-d', 'postgres', '-c', text).stdout

    def is_ready(self):
        return self.sql('SELECT 1') == '1\n'

    def prepare(self):
        self.sql('CREATE TABLE t (i int)')
        with open(self.scratch + '/script', 'w') as f:
            f.write('INSERT INTO t VALUES (:client_id);\n')

    def loads(self):
        def is_good(out):
            return 'processed: %d/%d' % (self.REQUESTS, self.REQUESTS) in out and 'failed transactions: 0 ' in out
        return [Load(is_good, 'pgbench', '-n', *connect, '-c', '4', '-t', str(self.REQUESTS // 4), '-f', self.scratch + '/script',
                     '-h', '127.0.0.1', '-p', self.port, '-U', 'test', 'postgres') for connect in ([], ['-C'])]

    def served(self):
        return int(self.sql('SELECT count(*) FROM t') or 0)


class Memcached(Server):
    NAME, NEEDS, END, REQUESTS = 'memcached', ('memcached',), signal.SIGTERM, 4000
    CLIENT = """
import socket, sys
port, n = map(int, sys.argv[1:])
links = [socket.create_connection(('127.0.0.1', port)).makefile('rwb') for _ in range(8)]
for i in range(n // 8):
    for k, f in enumerate(links):
        value = b'%d-%d ' % (i, k) * (1 + i % 300)
        f.write(b'set k%d 0 0 %d\\r\\n%s\\r\\nget k%d\\r\\nincr counter 1\\r\\n' % (k, len(value), value, k))
        f.flush()
        want = [b'STORED', b'VALUE k%d 0 %d' % (k, len(value)), value, b'END']
        got = [f.readline()[:-2] for _ in range(5)]
        if got[:4] != want or not got[4].isdigit():
            sys.exit('%s instead of %s' % (got, want))
print('good')
"""

    def start(self):
        user = ['-u', 'nobody'] if os.getuid() == 0 else []
        self.p = subprocess.Popen(['memcached', '-l', '127.0.0.1', '-p', self.port, '-U', '0', '-t', '2', *user])

    def ask(self, line):
        with socket.create_connection(('127.0.0.1', int(self.port))) as s, s.makefile('rwb') as f:
            f.write(line.encode() + b'\r\n')
            f.flush()
            return f.readline().decode().strip(), f.readline().decode().strip() if line.startswith('get') else ''

    def is_ready(self):
        return self.ask('set counter 0 0 1\r\n0')[0] == 'STORED'

    def prepare(self):
        pass

    def loads(self):
        return [Load(lambda out: out == 'good\n', sys.executable, '-c', self.CLIENT, self.port, str(self.REQUESTS))]

    def served(self):
        return int(self.ask('get counter')[1])


class Sshd(Server):
    """Each connection is a process for itself, and before the login a child of that under a seccomp filter."""
    NAME, NEEDS, END, REQUESTS = 'sshd', ('sshd', 'ssh', 'ssh-keygen'), signal.SIGTERM, 1
    MAY_SAY = 'its seccomp filter would end it'

    @staticmethod
    def why_not():
        if os.getuid() == 0 and not os.path.isdir('/run/sshd'):
            return 'no /run/sshd'

    def start(self):
        s = self.scratch
        for key in 'host', 'user':
            run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', s + '/' + key)
        shutil.copy(s + '/user.pub', s + '/keys')
        with open(s + '/conf', 'w') as f:
            f.write('ListenAddress 127.0.0.1:%s\nHostKey %s/host\nAuthorizedKeysFile %s/keys\nStrictModes no\nUsePAM no\nPidFile none\n' %
                    (self.port, s, s) + 'PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\nLogLevel INFO\n')
        self.p = subprocess.Popen([shutil.which('sshd'), '-D', '-f', s + '/conf', '-E', s + '/log'])

    def loads(self):
        s = self.scratch
        ssh = ['ssh', '-F', 'none', '-i', s + '/user', '-p', self.port, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null',
               '-o', 'LogLevel=ERROR', '-o', 'BatchMode=yes', '127.0.0.1']
        return [Load(lambda out: '42' in out.split('\n'), *ssh, 'echo $((6 * 7))') for _ in range(3)]

    def served(self):
        with open(self.scratch + '/log') as f:
            return sum('Accepted publickey' in line for line in f)


def attached(pids):
    """Those of them that have a session's file mapped; who has ended has not."""
    for pid in pids:
        try:
            if is_attached(pid):
                yield pid
        except (FileNotFoundError, ProcessLookupError):
            pass


class Cycles:
    def __init__(self, server, tracer):
        self.server, self.tracer, self.calls = server, tracer, 0
        self.out = os.path.join(server.scratch, 'x.uft')

    def said(self, i, err):
        err.seek(0)
        bad = left.complaint('\n'.join(l for l in err.read().splitlines() if not self.server.MAY_SAY or self.server.MAY_SAY not in l))
        if bad:
            fail('%s: cycle %d: %s' % (self.server.NAME, i, bad))

    def recording(self, i):
        got = dict(l.split(': ', 1) for l in run(uft, 'stat', self.out).stdout.splitlines() if ': ' in l)
        self.calls += int(got.get('calls', 0))
        if got.get('counter_lost_return', '0') != '0':
            fail('%s: cycle %d: %s returns without a call' % (self.server.NAME, i, got['counter_lost_return']))

    def once(self, i):
        server, lasting = self.server, self.lasting
        name = '%s: cycle %d' % (server.NAME, i)
        with tempfile.TemporaryFile('w+') as err:
            r = subprocess.Popen([uft, 'attach', '-q', '--flight', '-b', '256K', '-p', self.tracer, '-o', self.out] +
                                 FILTERS[i % 3] + [str(p) for p in server.tree()],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
            ok = wait_for(lambda: len(list(attached(lasting))) == len(lasting) or r.poll() is not None, name + ': attached', 60)
            time.sleep(0.03 * (i % 5))
            if i % 6 == 5:
                r.kill()
            elif i % 2 == 0:
                run(uft, 'detach', str(lasting[i % len(lasting)]))
            r.terminate()
            try:
                r.wait(60)
            except subprocess.TimeoutExpired:
                fail(name + ': the recorder does not end')
                r.kill()
                r.wait()
            self.said(i, err)
        if i % 6 != 5:
            self.recording(i)
        return wait_for(lambda: not list(attached(server.tree())), name + ': left', 60) and ok

    def all(self):
        server = self.server
        self.lasting = server.tree()
        before = {p: (server.state(p), left.text(p)) for p in self.lasting}
        served, loads = server.served(), server.loads()
        for load in loads:
            load.start()
        start = time.time()
        for i in range(CYCLES):
            if not self.once(i) or server.p.poll() is not None:
                fail('%s: stopped after %d cycles' % (server.NAME, i))
                break
            if i % 100 == 99:
                print('%s: %d cycles so far, %.0f ms each' % (server.NAME, i + 1, (time.time() - start) * 1000 / (i + 1)), flush=True)
        took = (time.time() - start) * 1000 / (i + 1)
        for load in loads:
            load.is_over = True
        for load in loads:
            load.join()
        server.settle()
        sent = sum(l.runs for l in loads) * server.REQUESTS
        if not left.failures:		# an answer may be there before it is counted
            wait_for(lambda: server.served() - served >= sent, server.NAME + ': all is counted')
        served = server.served() - served
        if sent != served:
            fail('%s: %d requests were served instead of %d' % (server.NAME, served, sent))
        wait_for(lambda: server.tree() == self.lasting, server.NAME + ': the clients are gone')
        for p in self.lasting:
            self.compare(p, *before[p])
        if not self.calls:
            fail(server.NAME + ': nothing was recorded')
        print('%s, %s: %d cycles, %.0f ms each, %d processes, %d calls recorded, %d requests sent and served' %
              (server.NAME, self.tracer, i + 1, took, len(self.lasting), self.calls, served), flush=True)

    def compare(self, pid, state, text):
        name = '%s %d' % (self.server.NAME, pid)
        wait_for(lambda: self.server.state(pid)['fds'] == state['fds'], name + ': its descriptors')
        left.compare(name, state, self.server.state(pid), left.GROWTH)
        if left.text(pid) != text:
            fail(name + ': text has changed')
        for file in left.differs_from_file(pid):
            fail('%s: text of %s is not that of the file' % (name, file))


def test(kind, tracers):
    for tool in kind.NEEDS:
        if not shutil.which(tool):
            print('skip: %s: no %s' % (kind.NAME, tool))
            return False
    why_not = getattr(kind, 'why_not', lambda: None)()
    if why_not:
        print('skip: %s: %s' % (kind.NAME, why_not))
        return False
    with tempfile.TemporaryDirectory() as scratch:
        server = kind(scratch)
        server.start()
        try:
            wait_for(server.is_up, kind.NAME + ': ready')
            if hasattr(server, 'prepare'):
                wait_for(server.is_ready, kind.NAME + ': answers')
                server.prepare()
            for tracer in tracers:
                for load in server.loads():	# what it allocates and opens once
                    run(*load.args)
                server.settle()
                Cycles(server, tracer).all()
        finally:
            server.stop()
    return True


os.environ['PATH'] += ':/usr/sbin:' + ':'.join(glob.glob('/usr/lib/postgresql/*/bin'))
kinds = {k.NAME: k for k in (Redis, Nginx, Postgres, Memcached, Sshd)}
wanted = {}
for part in sys.argv[2:]:
    wanted.setdefault(part.split(':')[0], []).append(part.split(':')[1])
done = [test(kinds[name], tracers) for name, tracers in wanted.items()]
sys.exit(1 if left.failures else 0 if all(done) else 77)
