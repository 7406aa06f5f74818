#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_memory.py SHIM - a reading command that is refused memory once prints all, or fails with one sentence

SHIM (failing_calls.c) refuses one allocation of uft: each that UFT_K chooses (default: some hundred of the allocations of one
command), and the first one at each place in uft, for each command. With status 0 the output is the one without a failure; with
another status standard error is one line that says that memory was short, and no exported file is left but a whole one. No run ends by a signal."""
import itertools, os, re, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'attach'))
from failing_sites import environment, sites_in

shim, uft, synth = os.path.realpath(sys.argv[1]), os.path.realpath(os.environ['UFT']), os.path.realpath(os.environ['SYNTH'])
TARGET = '''
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int middle(int x) { int s = 0; for (int i = 0; i < 3; i++) s += leaf(x + i); return s; }
int main(int argc, char **argv)
{
	pid_t child;

	if (middle(argc) && argc > 1)
		return 0;
	child = fork();
	if (!child) {
		execl(argv[0], argv[0], "x", (char *)0);
		_exit(1);
	}
	return waitpid(child, 0, 0) != child;
}
'''
EXPORTS = ['chrome', 'trace.dat', 'folded', 'speedscope', 'firefox', 'perfetto', 'pprof', 'ctf', 'otlp']
wrong = []


def skip(why):
    print('skipped:', why)
    sys.exit(77)


def run(words, at=0, site=0):
    """(status, output, standard error) of uft @words, of which OUT is a file whose contents count as output."""
    for made in ('count', 'OUT'):
        subprocess.run(['rm', '-rf', made], check=True)
    p = subprocess.run([uft, *words], env=environment(uft, shim, 'memory', at, site, os.path.abspath('count')),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output = [p.stdout]
    for folder, folders, names in os.walk('OUT'):
        folders.sort()
        output += [name.encode() + b'\n' + open(os.path.join(folder, name), 'rb').read() for name in sorted(names)]
    if os.path.isfile('OUT'):
        output.append(open('OUT', 'rb').read())
    return p.returncode, output, p.stderr.decode(errors='replace')


def expect(words, alone, got, what):
    status, output, err = got
    if status == 0 and (output, err) == alone[1:]:
        return
    is_whole = not os.path.exists('OUT') or output == alone[1]
    if status in (1, 2) and re.fullmatch(r'uft [^\n]*memory[^\n]*\n', err) and is_whole:
        return
    wrong.append('uft %s: %s: status %d, %s%s' % (' '.join(words), what, status, err.strip() or 'no word of it',
                                                ', another output' if output != alone[1] else ''))


def each_place(words):
    alone = run(words)
    if alone[0]:
        wrong.append('uft %s: status %d: %s' % (' '.join(words), alone[0], alone[2]))
        return
    for site in sorted(sites_in('count')):
        expect(words, alone, run(words, site=site), 'without memory at %x' % site)


def each_allocation(words):
    alone = run(words)
    with open('count', 'rb') as f:
        n = struct.unpack('Q', f.read(8))[0]
    for at in range(1, n + 1, 1 if os.environ.get('UFT_K') == 'all' else max(1, n // 300)):
        expect(words, alone, run(words, at=at), 'without memory for allocation %d of %d' % (at, n))


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    subprocess.run([synth, 's.uft', '100', '1', '2'], check=True)
    run(['stat', 's.uft'])
    if not os.path.exists('count') or not sites_in('count'):
        skip('this uft does not take the shim (a sanitizer comes first)')
    with open('target.c', 'w') as f:
        f.write(TARGET)
    subprocess.run(['cc', '-O1', '-fpatchable-function-entry=16,14', '-o', 'target', 'target.c'], check=True)
    for to, options in ('g.uft', []), ('f.uft', ['-p', 'function', '--func-stack', '-e', 'sched']):
        subprocess.run([uft, 'record', '-q', '-l', 'main', '-l', 'middle', '-l', 'leaf', *options, '-o', to, '--', './target'], check=True)
    each_allocation(['report', 's.uft'])
    for words in itertools.chain(
            [['report', 'f.uft'], ['report', 'g.uft'], ['stat', 'f.uft'], ['hist', '-e', 'sched_process_exit', 'f.uft'],
             ['diff', 'g.uft', 's.uft']],
            (['report', view, 'g.uft'] for view in ('--tree', '--flat', '--timeline')), [['report', '--callers', 'leaf', 'g.uft']],
            (['export', '-f', form, '-o', 'OUT', 'g.uft'] for form in EXPORTS), [['export', '-f', 'trace.dat', '-o', 'OUT', 'f.uft']]):
        each_place(words)

for line in wrong[:40]:
    print(line)
sys.exit(1 if wrong else 0)
