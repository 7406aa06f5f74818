#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
machines.py - build modes of arm64 and riscv64: built by the cross compilers, run, looked at and recorded under an emulator

The program and the checks are those of matrix.py; what is fewer are the cells: every pair of values of two axes at least once, in a
set that is the same everywhere, its size asserted. Left out is what there is not: static programs (no loader brings the runtime), clang's
C++ and link (it is not told where the libraries are), the graph of C++.

  machines.py --uft build/uft --sites build/.../sitecount MACHINE [--only TEXT] [--keep DIR] [-j N]
"""
import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import matrix
from cells import MODES, Mode, cover
from matrix import Failed, check_recording, check_sites, functions_of, must, read_counts

AXES = ('mode', 'compiler', 'lang', 'opt', 'lto', 'gc', 'link', 'guard', 'strip', 'relax')
Cell = namedtuple('Cell', AXES + ('ld', 'cf'))      # ld, cf: matrix.py asks
COMMON = {
    'compiler': ('gcc', 'clang'), 'lang': ('c', 'c++'), 'opt': ('O0', 'O2', 'Os'), 'lto': ('nolto', 'lto'), 'gc': ('nogc', 'gc'),
    'link': ('pie', 'nopie', 'shared'), 'guard': ('noguard', 'guard'), 'strip': ('syms', 'strip'),
}
CALLS = {'mcount': Mode('-pg', 'plain', True), 'tool-mcount': Mode('-pg', 'tool', True),
         'tool-mcount-nop': Mode('-pg', 'nop', True)}


def pads(*flags):
    return {'pfe=' + f: Mode('-fpatchable-function-entry=' + f, 'plain', True) for f in flags}


Machine = namedtuple('Machine', 'modes guard relax cells common emulator')
MACHINES = {
    'aarch64': Machine(pads('2', '4,2', '3,1') | CALLS, '-mbranch-protection=standard', ('relax',), 19, [],
                       'qemu-aarch64 -L /usr/aarch64-linux-gnu'),
    # Where compressed instructions are, a site begins at a word: -falign-functions sees to that where the pad is no longer.
    'riscv64': Machine(pads('8', '9,4', '4') | CALLS, '-march=rv64g', ('relax', 'no-relax'), 22, ['-falign-functions=4'],
                       'qemu-riscv64 -L /usr/riscv64-linux-gnu'),
}


def is_legal(cell, name):
    # Objects of link-time code hold no calls for recordmcount, and clang's are for clang's linker.
    if cell.lto == 'lto' and (MODES[cell.mode].kind in ('tool', 'nop') or cell.compiler == 'clang'):
        return False
    # gcc's list does not survive the link of C++; without symbols as well nothing tells a pad from alignment.
    if cell.lang == 'c++' and cell.strip == 'strip' and cell.mode.startswith('pfe'):
        return False
    if cell.mode == 'pfe=4' and cell.opt == 'Os' and cell.compiler == 'gcc' and cell.guard == 'noguard':
        return False    # -Os aligns nothing: such pads may be too small
    if name == 'riscv64' and not cell.mode.startswith('pfe'):
        # C has no unwind data there: without symbols only a list knows where a function begins. And a relaxed call reaches 1 MiB,
        # in which there is room beside a PIE; elsewhere that is luck (uft says so).
        if cell.link != 'pie' and cell.relax == 'relax':
            return False
        if cell.lang == 'c' and cell.strip == 'strip' and cell.mode == 'mcount':
            return False
    return cell.compiler == 'gcc' or cell.lang == 'c'


def pairs(cell):
    v = [(k, getattr(cell, k)) for k in AXES]
    return [(v[i], v[j]) for i in range(len(v)) for j in range(i)]


def cells_of(name, machine):
    axes = dict(COMMON, mode=tuple(machine.modes), relax=machine.relax)
    every = [Cell(*v, 'bfd', 'nocf') for v in product(*(axes[a] for a in AXES))]
    return cover([c for c in every if is_legal(c, name)], pairs)


class Builder:
    def __init__(self, name, machine, uft):
        self.name, self.machine, self.uft = name, machine, uft

    def driver(self, cell):
        return ['%s-linux-gnu-%s' % (self.name, {'c': 'gcc', 'c++': 'g++'}[cell.lang])]

    def flags(self, cell):
        flags = MODES[cell.mode].flags.split() + ['-' + cell.opt] + self.machine.common
        flags += [self.machine.guard] * (cell.guard == 'guard') + ['-flto'] * (cell.lto == 'lto')
        return flags + ['-ffunction-sections', '-fdata-sections'] * (cell.gc == 'gc')

    def compile(self, cell, where, name, flags):
        out = os.path.join(where, name + '.o')
        driver = self.driver(cell)
        if cell.compiler == 'clang':
            driver = ['clang', '--target=%s-linux-gnu' % self.name, '-isystem', '/usr/%s-linux-gnu/include' % self.name]
        must(driver + ['-x', cell.lang] + flags + ['-c', os.path.join(matrix.HERE, name + '.c'), '-o', out])
        return out

    def build(self, cell, where):
        """The files that make up the program, unstripped."""
        objs = {}
        for name in matrix.SOURCES:
            pic = '-fPIC' if cell.link == 'shared' and name == 'lib' else matrix.PIC_FLAG[cell.link]
            objs[name] = self.compile(cell, where, name, self.flags(cell) + [pic])
        if MODES[cell.mode].kind in ('tool', 'nop'):
            must([self.uft, 'recordmcount', '--quiet'] + ['--nop'] * (MODES[cell.mode].kind == 'nop') + list(objs.values()))
        objs['report'] = self.compile(cell, where, 'report', ['-O1', matrix.PIC_FLAG[cell.link]])
        link = ['-Wl,--gc-sections'] * (cell.gc == 'gc') + ['-Wl,--no-relax'] * (cell.relax == 'no-relax')
        if cell.lto == 'lto':
            link += self.flags(cell)
        if cell.lang == 'c++' and cell.mode.startswith('pfe'):     # gcc's list breaks inline functions otherwise
            link += must([self.uft, 'cflags', '--quiet', '--link', '--mode=patchable', '--cc=' + self.driver(cell)[0]])\
                .stdout.split()
        files = [os.path.join(where, 'prog')]
        if cell.link == 'shared':
            files.append(os.path.join(where, 'libpart.so'))
            must(self.driver(cell) + ['-shared', '-o', files[1], objs.pop('lib')] + link)
        must(self.driver(cell) + [matrix.LINK_FLAG[cell.link], '-o', files[0]] + list(objs.values()) + files[1:] + link)
        return files


def sites_of(sitecount, files):
    """Function by place."""
    rows = [line.split('\t') for line in must([sitecount] + files).stdout.splitlines()]
    return {(os.path.basename(path), int(addr, 16)): int(func, 16) for _, skip, addr, func, path in rows if skip == '0'}


def renamed(names, before, after):
    """Names by what stands for the function's address in a stripped file: its unwind entry, which gcc begins behind the pad."""
    if before.keys() != after.keys():
        raise Failed('stripped, other places: %s' % sorted(before.keys() ^ after.keys()))
    moved = {(where[0], func): (where[0], after[where]) for where, func in before.items()}
    return {moved.get(where, where): known for where, known in names.items()}


def check_cell(cell, builder, opts, top):
    where = os.path.join(top, '_'.join(cell).replace(',', '+'))
    os.mkdir(where)
    files = builder.build(cell, where)
    emulator = builder.machine.emulator
    p = must(emulator.split() + [files[0]], cwd=where)
    counted, expected, _ = read_counts(p.stdout)
    if counted != expected or not counted:
        raise Failed('untraced: counted %s' % {k: (counted[k], v) for k, v in expected.items() if counted[k] != v})
    names = functions_of(files)
    if cell.strip == 'strip':
        before = sites_of(opts.sites, files)
        must(['%s-linux-gnu-strip' % builder.name] + files)
        names = renamed(names, before, sites_of(opts.sites, files))
    sites, left_out = check_sites(opts.sites, cell, files, names, expected)
    if left_out or not sites:
        raise Failed('%d sites, none in %s' % (sites, left_out))
    events = 0
    for tracer in ('function', 'function_graph'):
        # The graph of prologues that sign the return address before a call is refused.
        is_signed_call = builder.name == 'aarch64' and cell.guard == 'guard' and not cell.mode.startswith('pfe')
        if tracer == 'function' or not is_signed_call:
            events += check_recording(opts.uft, tracer, cell, files[0], where, names, p.stdout, expected, False,
                                      ['--emulator=' + emulator])
    return sites, events


def main():
    a = argparse.ArgumentParser(description='build modes of another machine')
    a.add_argument('machine', choices=MACHINES)
    a.add_argument('--uft', required=True)
    a.add_argument('--sites', required=True, help='the program sitecount')
    a.add_argument('--only', action='append', default=[], help='only cells whose name contains TEXT (all of them)')
    a.add_argument('--keep', metavar='DIR', help='work there and keep everything')
    a.add_argument('-j', type=int, default=os.cpu_count(), metavar='N')
    opts = a.parse_args()
    opts.uft = os.path.abspath(opts.uft)
    machine = MACHINES[opts.machine]
    MODES.update(machine.modes)
    cells = cells_of(opts.machine, machine)
    if len(cells) != machine.cells:
        print('FAIL: there are %d cells, not %d' % (len(cells), machine.cells))
        return 1
    cells = [c for c in cells if all(t in '/'.join(c) for t in opts.only)]
    tools = ['%s-linux-gnu-%s' % (opts.machine, t) for t in ('gcc', 'g++', 'strip')] + ['clang', 'nm', machine.emulator.split()[0]]
    missing = [t for t in tools if not shutil.which(t)]
    if missing:
        print('SKIP: %s not installed' % ', '.join(missing))
        return 77
    top = opts.keep or tempfile.mkdtemp(prefix='uft-matrix.')
    os.makedirs(top, exist_ok=True)
    builder = Builder(opts.machine, machine, opts.uft)
    total, start = Counter(), time.monotonic()

    def one(cell):
        try:
            return cell, check_cell(cell, builder, opts, top), None
        except (Failed, OSError, ValueError) as e:
            return cell, (0, 0), e

    with ThreadPoolExecutor(opts.j) as pool:
        for cell, (sites, events), error in pool.map(one, cells):
            if error:
                print('FAIL %s\n    %s' % ('/'.join(cell), error), flush=True)
            total.update(failed=bool(error), sites=sites, events=events)
    if not opts.keep:
        shutil.rmtree(top, ignore_errors=True)
    print('%d cells: %d failed; %d sites, %d events; %.0f s' %
          (len(cells), total['failed'], total['sites'], total['events'], time.monotonic() - start))
    return 1 if total['failed'] or not total['events'] else 0


if __name__ == '__main__':
    sys.exit(main())
