#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_scenes.py UFT SHIM PROGRAM LIBRARY SCENE - one allocation, mmap or ptrace of uft fails while PROGRAM is busy: it is as it is alone

PROGRAM (busy_scene.c) forks, executes itself, makes threads and loads LIBRARY, once for each turn that it is asked for.
A scene is one way to trace it, with the options and files that reach code which failing_calls.py does not. The calls
of each kind are counted in a run where all of them work. Then the first call of UFT_SITES (default 4, or 2; all) of the places in uft
that make such calls fails, a place in each run.

 - record-*: uft starts PROGRAM, which writes what it writes alone and ends with its status; or uft says why not,
   and PROGRAM has not run.
 - attach-*: PROGRAM has had a turn. uft attaches, or says why not; there are more turns; uft ends while PROGRAM waits,
   or (attach-leaves-*) while it is at a turn, (attach-watch) while another is traced on, or (attach-agentless) the agent is killed before. PROGRAM has the mappings,
   tasks, signals, files and code that it had; where uft says that it left something, its code at least.
 - killed-*: PROGRAM as for attach; the recorder is killed. Its guard, whose calls fail, or uft detach detaches, or the next
   uft detach does.
 - shell-*: PROGRAM runs in uft shell behind writes to tracing files, which may fail.
 - doctor: uft doctor says something of PROGRAM, and uft record refuses a function that busy_leaf.c does not have.

In no case is uft killed by a signal. A scene that uft refuses where no call fails, as on a machine without perf events, is
skipped."""
import os, shutil, signal, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from failing_sites import Sites, within
from left import agents, compare, complaint, fail, is_armed, is_attached, state, text, wait_for

uft, shim, program, library = map(os.path.abspath, sys.argv[1:5])
scene = sys.argv[5]
leaf = os.path.join(os.path.dirname(program), 'busy_leaf')
END_S = 120			# for what ends at once, on a loaded machine
TURNS = 2
STATUS = 7			# of PROGRAM

EMULATOR = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']
CROSS = 'aarch64-linux-gnu-gcc'
RECORD = {
    'record-watchdog': ['--watchdog', '--int3', '--perf-map', '--sched-switch', '-p', 'function_graph', '-O', 'funcgraph-args'],
    'record-events': ['-e', 'scene:turn', '-R', 'hist:keys=n', '-e', 'sched', '-T', '-p', 'function', '-l', 'step', '-n', 'tiny'],
    'record-budget': ['--budget', '1%', '--max-rate', '1000', '-g', 'turn', '-D', '20'],
    'record-keep-slow': ['--keep-slow', 'turn=1us', '--min-size', '4'],
    'record-watch': ['-p', 'mmiotrace', '--watch', 'watched:w'],
    'record-samples': ['-p', 'sysprof', '--sample-period', '100us', '-T'],
    'record-preload': ['--preload', '--sched-switch', '-p', 'function'],
    'record-hwlat': ['-p', 'hwlat', '-e', 'sched:sched_process_fork'],
    'record-emulated': ['--emulator', ' '.join(EMULATOR), '-p', 'function'],
}
ATTACH = {
    'attach-watchdog': ['--watchdog', '--int3', '--sched-switch'],
    'attach-leaves-busy': ['-p', 'function', '--func-stack'],
    'attach-events': ['-e', 'scene:turn', '-f', 'n > 0', '-T', '-e', 'sched', '-p', 'kmemtrace'],
    'attach-agentless': ['-p', 'function'],
    'attach-watch': ['-p', 'mmiotrace', '--watch', 'watched:w'],
}
KILLED = {
    'killed-detach': ['-p', 'function_graph'],
    'killed-guard': ['-p', 'function'],
}
# Functions of uft whose calls fail in any case: a task would stand for good, or be killed.
NEEDED = {'record-events': ('exec_task_watch_rseq', 'launch_exec'), 'attach-watch': ('target_grow',)}
FEW = 'killed-detach', 'killed-guard', 'record-emulated'
# $RUN: PROGRAM with a turn; its results are in the output.
SHELL = {
    'shell-filters': '''$RUN; echo step >set_ftrace_filter; echo function >current_tracer; $RUN
        echo many:traceoff:1 >>set_ftrace_filter; echo thread:stacktrace >>set_ftrace_filter; $RUN
        echo function_graph >current_tracer; echo turn >set_graph_function; echo stpe >set_ftrace_filter; $RUN
        echo >set_ftrace_filter; $RUN''',
    'shell-instances': '''$RUN; mkdir instances/a instances/b; echo step >instances/a/set_ftrace_filter; echo many >instances/b/set_ftrace_filter; echo function >instances/a/current_tracer
        echo function >instances/b/current_tracer; $RUN; echo 1 >options/func_stack_trace; echo function >current_tracer; $RUN
        echo many:stacktrace >>instances/b/set_ftrace_filter; echo nop >instances/a/current_tracer; rmdir instances/a; $RUN
        echo nop >current_tracer; echo 1 >instances/b/options/function-fork; echo $$ >instances/b/set_ftrace_pid; $RUN
        echo $$ >instances/b/set_event_pid; echo 1 >instances/b/events/scene/turn/enable; $RUN''',
    'shell-events': '''$RUN; echo 1 >events/scene/turn/enable; echo "n > 0" >events/scene/turn/filter; echo hist:keys=n >events/scene/turn/trigger
        echo 1 >options/event-fork; echo $$ >set_event_pid; $RUN; echo snapshot >>events/scene/turn/trigger; echo 1 >events/sched/enable
        echo step >set_ftrace_filter; echo 1 >function_profile_enabled; $RUN; cat events/scene/turn/hist; echo !snapshot >events/scene/turn/trigger; $RUN''',
}

def skip(why):
    print('SKIPPED: ' + why)
    sys.exit(77)


def build_emulated(scratch):
    """PROGRAM and LIBRARY of the other machine."""
    global program, library
    here = os.path.dirname(os.path.abspath(__file__))
    if not shutil.which(EMULATOR[0]) or not shutil.which(CROSS):
        skip('no emulator, or no compiler for it')
    program, library = os.path.join(scratch, 'busy_scene'), os.path.join(scratch, 'busy_library.so')
    for words in (['busy_scene.c', '-pthread', '-fpatchable-function-entry=2', '-o', program], ['busy_library.c', '-shared', '-fPIC', '-o', library]):
        if subprocess.run([CROSS, '-O2', os.path.join(here, words[0]), *words[1:]], check=False).returncode:
            skip('the compiler has no libc')


def alone(turns):
    r = subprocess.run([*EMULATOR * ('emulated' in scene), program, library], input=b't' * turns, stdout=subprocess.PIPE, check=False)
    assert r.returncode == STATUS, r
    return r.stdout


def communicate(name, r, scratch, given):
    try:
        return r.communicate(given, timeout=END_S)
    except subprocess.TimeoutExpired:
        fail(name + ': uft did not end')
        for pid in list(left.recorders(scratch)):
            os.kill(pid, 9)
        return r.communicate()


def record(sites, name):
    """PROGRAM runs as it does alone, or not at all."""
    cmd = [uft, 'record', '-q', '-b', '256K', *RECORD[scene], '-o', os.path.join(sites.scratch, 'x.uft'), program, library]
    with subprocess.Popen(cmd, env=sites.environment(uft, shim), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as r:
        out, said = communicate(name, r, sites.scratch, b't' * TURNS)
    if out == b'' and r.returncode > 0 and said:
        if not sites.site:
            skip(said.decode())
        return
    if out != want or r.returncode not in (STATUS, 1 if sites.site else STATUS):
        fail('%s: status %d, output %r: %s' % (name, r.returncode, out, said.decode()))
    elif r.returncode == 1 and not said:
        fail(name + ': uft failed without a word')


class Target:
    """PROGRAM, as it was before uft came."""
    def __init__(self):
        self.n = 0
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([program, library], stdin=subprocess.PIPE, stdout=self.out)
        self.pid = self.p.pid
        self.turn('warm')
        self.turn('warm')
        self.before, self.code = state(self.pid), text(self.pid)
        self.perf_map = '/tmp/perf-%d.map' % self.pid
        if 'leaves' in scene:
            with open(self.perf_map, 'w') as f:
                f.write('7000000000 10 compiled\n')

    def ask(self):
        self.n += 1
        self.p.stdin.write(b't')
        self.p.stdin.flush()

    def is_done(self):
        return self.p.poll() is not None or os.pread(self.out.fileno(), 1 << 16, 0).count(b'\n') >= self.n

    def answer(self, name):
        wait_for(self.is_done, '%s: turn %d' % (name, self.n), END_S)
        got = os.pread(self.out.fileno(), 1 << 16, 0).splitlines()
        if self.p.poll() is not None or len(got) != self.n or got[-1] != want_line(self.n):
            fail('%s: turn %d: status %s, output %r' % (name, self.n, self.p.poll(), got[-1:]))
            return False
        return True

    def turn(self, name):
        self.ask()
        return self.answer(name)

    def end(self):
        self.p.kill()
        self.p.communicate()
        if os.path.exists(self.perf_map):
            os.unlink(self.perf_map)


target = None


def attach(sites, name):
    """There are turns before, with and after uft."""
    global target
    failures = left.failures
    if not target:
        target = Target()
    other = subprocess.Popen([program, library], stdin=subprocess.PIPE) if scene == 'attach-watch' else None
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-b', '256K', *ATTACH[scene], '-o', os.path.join(sites.scratch, 'x.uft'), str(target.pid),
                              *([str(other.pid)] if other else [])],
                             env=sites.environment(uft, shim), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: r.poll() is not None or is_armed(target.pid, target.code, r), name + ': attached, or refused')
        if not sites.site and r.poll() is not None:
            skip(os.pread(err.fileno(), 1 << 16, 0).decode())
        for agent in agents(target.pid) if 'agentless' in scene else ():
            os.kill(agent, signal.SIGKILL)
        target.turn(name)
        if 'leaves' in scene:
            target.ask()
        else:
            target.turn(name)
        if other:
            subprocess.run([uft, 'detach', str(target.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=END_S, check=False)
        r.terminate()
        try:
            r.wait(END_S)
        except subprocess.TimeoutExpired:
            fail(name + ': uft did not end')
            r.kill()
            r.wait()
        said = os.pread(err.fileno(), 1 << 16, 0).decode()
    if other:
        other.kill()
        other.communicate()
    target.answer(name)
    if r.returncode < 0 and r.returncode != -15:
        fail('%s: uft ended by signal %d: %s' % (name, -r.returncode, said))
    if r.returncode > 0 and not said:
        fail(name + ': uft failed without a word')
    stays = complaint(said)
    if stays:
        wait_for(lambda: state(target.pid)['tracer'] == '0', name + ': let go')
    elif target.p.poll() is None:
        wait_for(lambda: not is_attached(target.pid) and state(target.pid)['tracer'] == '0', name + ': left')
        target.turn(name)
        compare(name, target.before, state(target.pid), 0)
    if target.p.poll() is None and text(target.pid) != target.code:
        fail(name + ': text has changed')
    if stays or left.failures > failures:
        target.end()
        target = None


def killed(sites, name):
    """The recorder is killed; its guard, or uft detach where that was killed as well, detaches, or the next uft detach does."""
    global target
    failures = left.failures
    if not target:
        target = Target()
    is_detach = scene == 'killed-detach'
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-q', '-b', '256K', *KILLED[scene], '-o', os.path.join(sites.scratch, 'x.uft'), str(target.pid)],
                             env=None if is_detach else sites.environment(uft, shim), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: r.poll() is not None or is_armed(target.pid, target.code, r), name + ': attached, or refused')
        if r.poll() is not None:
            said = os.pread(err.fileno(), 1 << 16, 0).decode()
            if not sites.site:
                skip(said)
            if r.returncode < 0 or not said:
                fail('%s: status %d: %s' % (name, r.returncode, said))
        for pid in sorted(left.recorders(sites.scratch), reverse=True) if is_detach else ():
            os.kill(pid, signal.SIGKILL)
        r.kill()
        r.wait()
    left.guard_ends(name, sites.scratch, target.pid)
    target.turn(name)
    for env in [sites.environment(uft, shim)] * is_detach + [None]:
        if not is_attached(target.pid):
            break
        d = subprocess.run([uft, 'detach', str(target.pid)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=END_S, check=False)
        said = d.stderr.decode()
        if d.returncode < 0 or (d.returncode and not said):
            fail('%s: uft detach: status %d: %s' % (name, d.returncode, said))
        if (d.returncode == 0) == is_attached(target.pid):
            fail('%s: uft detach: status %d: %s: and it is %sattached' % (name, d.returncode, said, 'not ' * (not is_attached(target.pid))))
    target.turn(name)
    wait_for(lambda: not is_attached(target.pid) and state(target.pid)['tracer'] == '0', name + ': left', 10)
    compare(name, target.before, state(target.pid), 0)
    if text(target.pid) != target.code:
        fail(name + ': text has changed')
    if left.failures > failures:
        target.end()
        target = None


def shell(sites, name):
    """Tracing files say no, and PROGRAM runs all the same."""
    run = SHELL[scene].count('$RUN')
    words = 'cd /sys/kernel/tracing || exit 90; turn() { echo t | "%s" "%s" >&3; echo $? >&3; }; %s; exit 0' % (program, library,
             SHELL[scene].replace('$RUN', 'turn'))
    to = os.path.join(sites.scratch, 'turns')
    with subprocess.Popen([uft, 'shell', '-b', '256', '-c', "exec bash -c '%s' 3>%s" % (words.replace('\n        ', '; '), to)],
                          env=sites.environment(uft, shim), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as r:
        said = communicate(name, r, sites.scratch, None)[1]
    got = b''
    if os.path.exists(to):
        with open(to, 'rb') as f:
            got = f.read()
        os.unlink(to)
    if r.returncode > 0 and got == b'' and said:
        if not sites.site:
            skip(said.decode())
        return
    if r.returncode or got != run * (alone(1) + b'%d\n' % STATUS):
        fail('%s: status %d, turns %r: %s' % (name, r.returncode, got, said.decode()))


def want_line(n):
    """As the first, with the number of the turn and of its signals."""
    parts = want.splitlines()[0].split(b', ')
    return b', '.join([b'%d: %s' % (n, parts[0].split(b': ')[1]), *parts[1:-1], b'%d' % n])


def doctor(sites, name):
    r = subprocess.run([uft, 'doctor', program], env=sites.environment(uft, shim), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=END_S, check=False)
    if r.returncode < 0 or not r.stdout + r.stderr:
        fail('%s: status %d: %s' % (name, r.returncode, r.stderr.decode()))
    r = subprocess.run([uft, 'record', '-o', os.path.join(sites.scratch, 'x.uft'), '-l', 'leaf_1000', leaf], env=sites.environment(uft, shim),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=END_S, check=False)
    said = r.stderr.decode()
    if r.returncode <= 0 or (not sites.site and 'near: leaf_100' not in said) or not said:
        fail('%s: no such function: status %d: %s' % (name, r.returncode, said))


binaries = tempfile.TemporaryDirectory()
if 'emulated' in scene:
    build_emulated(binaries.name)
want = alone(TURNS)
run = record if scene in RECORD else attach if scene in ATTACH else killed if scene in KILLED else shell if scene in SHELL else doctor
with tempfile.TemporaryDirectory() as scratch:
    for kind in ('memory', 'mmap', 'ptrace'):
        sites = Sites(scratch, kind, scene == 'killed-guard')
        run(sites, '%s: %s: none' % (scene, kind))
        for where in sites.each(2 if scene in FEW else 4, within(uft, sites.seen(), *NEEDED.get(scene, ()))):
            run(sites, '%s: %s at %s' % (scene, kind, where))
    if target:
        target.end()
sys.exit(left.failures != 0)
