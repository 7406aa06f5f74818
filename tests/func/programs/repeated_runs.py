#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""repeated_runs.py UFT TOP [CASE...] - programs that a tracer easily changes, UFT_RUNS times each (default 1), on a quiet and on a loaded machine

Each run has to end in time, with the output and the status that it has without uft. Standard error is the program's and uft's.
A case is skipped, by name, where its compiler or program is not installed. UFT_LOAD: processes that spin beside the second half.
Without CASE and UFT_RUNS: a few of them.
"""
import os, shutil, signal, subprocess, sys, tempfile, time

uft, top = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
RUNS, LOAD = int(os.environ.get('UFT_RUNS', 1)), int(os.environ.get('UFT_LOAD', 4))
TIMEOUT = 180
GRAPH, FUNCTION, PROFILE, NOP = 'function_graph', 'function', 'profile', 'nop'
failures = runs = 0

KILLED = r'''
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int n = 0, status;
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) {
			execlp("sleep", "sleep", "5", (char *)0);
			_exit(1);
		}
		usleep(300 * (useconds_t)i);
		kill(child, SIGKILL);
		n += waitpid(child, &status, 0) == child && WIFSIGNALED(status);
	}
	printf("reaped %d\n", n);
	return 0;
}
'''
KILLED_PY = '''
import subprocess
n = 0
for i in range(20):
    try:
        subprocess.run(['sleep', '5'], timeout=(5 + i) / 1e4)
    except subprocess.TimeoutExpired:
        n += 1
print('killed', n)
'''
CHURN = r'''
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) void *leaf(void *arg) { return (char *)arg + 1; }
static __attribute__((noinline)) void *run(void *arg)
{
	char *p = arg;
	for (int i = 0; i < 50; i++)
		p = leaf(p);
	if ((p - (char *)0) % 2)
		pthread_exit(p);
	return p;
}
int main(int argc, char **argv)
{
	long sum = 0;
	for (long i = 0; i < atol(argv[argc - 1]); i++) {
		pthread_t t[4];
		void *got;
		for (long k = 0; k < 4; k++)
			if (pthread_create(&t[k], NULL, run, (void *)(i + k)))
				return 2;
		for (int k = 0; k < 4; k++) {
			pthread_join(t[k], &got);
			sum += (long)got;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
'''
LIMITED = r'''
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
static __attribute__((noinline)) void *run(void *arg) { return arg; }
int main(void)
{
	struct rlimit r = { 2ul << 30, 2ul << 30 };
	int n = 0;
	if (setrlimit(RLIMIT_AS, &r))
		return 2;
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		if (!pthread_create(&t, NULL, run, NULL))
			n += !pthread_join(t, NULL);
	}
	printf("threads %d\n", n);
	return 0;
}
'''
RECURSION = r'''
#include <stdio.h>
static __attribute__((noinline)) long down(long n) { return n ? down(n - 1) + (n & 1) : 0; }
int main(void) { printf("%ld\n", down(60000)); return 7; }
'''


def source(name, text):
    with open(name, 'w') as f:
        f.write(text)
    return name


def plain(name):
    return os.path.join(top, 'tests/func/unprepared', name)


# name: [commands that build, "tool" or "tool args"], the run, tracers
CASES = {
    'killed-child': ([['gcc', '-O1', source, 'k.c', KILLED, '-o', 'killed']], ['./killed'], (GRAPH, FUNCTION, PROFILE, NOP)),
    'killed-child-python': ([], ['python3', '-c', KILLED_PY], (GRAPH, NOP)),
    'ocaml': ([['cp', plain('collect.ml'), '.'], ['ocamlopt', '-o', 'collect', 'collect.ml']], ['./collect'], (GRAPH, PROFILE)),
    'mono': ([['mcs', '-out:collect.exe', plain('Collect.cs')]], ['mono', 'collect.exe'], (GRAPH, PROFILE)),
    **{'sandbox-' + mode: ([['gcc', '-O1', '-w', '-pthread', plain('sandbox.c'), '-o', 'sandbox']], ['./sandbox', mode], (GRAPH, FUNCTION))
       for mode in ('jump', 'deny', 'strict', 'clock', 'handler', 'threads', 'raw')},
    'static-threads': ([['gcc', '-O1', '-static', '-pthread', source, 'c.c', CHURN, '-o', 'churn']], ['./churn', '300'], (GRAPH, FUNCTION)),
    'static-threads-attached': ([['gcc', '-O1', '-static', '-pthread', source, 'c.c', CHURN, '-o', 'churn']], ['./churn', '20000'], ('attach',)),
    'static-exceptions': ([['g++', '-O1', '-w', '-static', plain('cleanups.cc'), '-o', 'cleanups']], ['./cleanups'], (GRAPH, PROFILE)),
    'valgrind': ([['valgrind', '--version']], ['valgrind', '-q', '/bin/true'], (GRAPH, FUNCTION)),
    **{'sanitizer-' + s: ([['clang++', '-O1', '-w', '-fsanitize=' + s, plain('cleanups.cc'), '-o', 'sanitized-' + s]], ['./sanitized-' + s], (GRAPH,))
       for s in ('address', 'thread')},
    'address-limit': ([['gcc', '-O1', '-pthread', source, 'l.c', LIMITED, '-o', 'limited']], ['./limited'], (GRAPH, FUNCTION)),
    'recursion': ([['gcc', '-O1', '-fno-optimize-sibling-calls', source, 'r.c', RECURSION, '-o', 'recursion']], ['./recursion'], (GRAPH, FUNCTION, PROFILE)),
}

SILENT = 'killed-child', 'killed-child-python'	# that a child was killed is nothing to warn of
SHORT = 'killed-child', 'sandbox-jump', 'static-threads', 'recursion'


def build(commands):
    """None, or why not."""
    for command in commands:
        words, i = [], 0
        while i < len(command):
            if command[i] is source:
                words.append(source(command[i + 1], command[i + 2]))
                i += 3
            else:
                words.append(command[i])
                i += 1
        if not shutil.which(words[0]):
            return words[0] + ' is not installed'
        if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode:
            return ' '.join(words) + ' fails'
    return None


def outcome(command):
    """Status (None: it did not end), standard output, standard error."""
    with open('out', 'wb') as out, open('err', 'wb') as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            status = p.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(p.pid, signal.SIGKILL)		# ours: a session of its own
            p.wait()
    with open('out', 'rb') as out, open('err', 'rb') as err:
        return status, out.read(), err.read()


def attached(command):
    """The outcome of a program that is attached to again and again while it runs."""
    with open('out', 'wb') as out:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
        until = time.monotonic() + TIMEOUT
        said = b''
        while p.poll() is None and time.monotonic() < until:
            said += subprocess.run([uft, 'attach', '-q', '-o', 'a.uft', '--duration', '300ms', str(p.pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        if p.poll() is None:
            p.kill()
            p.wait()
            return None, b'', said
    with open('out', 'rb') as out:
        return p.returncode, out.read(), said


def one(name, command, tracer, expected, where):
    global failures, runs
    runs += 1
    got = attached(command) if tracer == 'attach' else outcome([uft, 'record', '-q', '-p', tracer, '-o', 'x.uft'] + command)
    if got[:2] == expected and not (name in SILENT and b'uft record: warning' in got[2]):
        return
    failures += 1
    print('FAIL: %s, %s, %s: status %s, expected %s; %s' %
          (name, tracer, where, got[0], expected[0], 'the same output' if got[1] == expected[1] else 'other output: %r' % got[1][-200:]))
    print('  standard error ends: %r' % got[2][-400:], flush=True)


def main():
    os.chdir(tempfile.mkdtemp(prefix='uft-test.'))
    for name in sys.argv[3:] or (CASES if 'UFT_RUNS' in os.environ else SHORT):
        commands, command, tracers = CASES[name]
        why = build(commands)
        if why:
            print('SKIPPED: %s: %s' % (name, why))
            continue
        expected = outcome(command)[:2]
        before = failures
        for where in 'quiet', 'loaded':
            load = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(LOAD if where == 'loaded' else 0)]
            for tracer in tracers:
                for _ in range(RUNS):
                    one(name, command, tracer, expected, where)
            for p in load:
                p.kill()
                p.wait()
        print('%s: %d of %d runs differ' % (name, failures - before, 2 * RUNS * len(tracers)), flush=True)
    shutil.rmtree(os.getcwd())
    print('%d of %d runs differ' % (failures, runs))
    return 1 if failures or not runs else 0


if __name__ == '__main__':
    sys.exit(main())
