#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
matrix.py - every build mode, built, run, looked at and recorded

For each cell (cells.py) the same small program (main.c, work.c, lib.c; count.h has the table of calls) is built
in that way. Then, each a check that can fail:
  built      or refused with the compiler's own message, where that is what the table says
  untraced   it exits with 0, counts what count.h says, and leaves no gmon.out
  sites      every function of the program has exactly one place to patch and nothing else has one; where the
             compiler was told to leave too few bytes, none, and it is said why
  recorded   with both tracers: output and status as untraced, for every function exactly as many calls as the
             program counted itself, nothing lost. Without any site as well: then its plain entries are rewritten
A cell without events fails, and so does a set of cells of another size than CELLS.

  matrix.py --uft build/uft --sites build/.../sitecount [--only TEXT] [--build-only] [--keep DIR] [-j N]
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from cells import MODES, all_cells, has_list, may_be_too_small, refusal

CELLS = 531
LIMIT = 300         # seconds for a command, which hangs then
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ('main', 'work', 'lib')
PIC_FLAG = {'pie': '-fPIE', 'nopie': '-fno-pie', 'shared': '-fPIE', 'static': '-fno-pie', 'static-pie': '-fPIE'}
LINK_FLAG = {'pie': '-pie', 'nopie': '-no-pie', 'shared': '-pie', 'static': '-static', 'static-pie': '-static-pie'}
# What compilers make besides the functions of the source.
MADE = re.compile(r'(_GLOBAL__)?_?sub_I_|__static_initialization_and_destruction_0|__cxx_global_var_init|'
                  r'cxx_part|never_called|square::square|square::~square|__clang_call_terminate')
OWN_CALL = 6        # enum uft_site_kind of abi.h
PAD_SMALL = 2       # enum uft_skip of symbol/object.h
BEFORE = 4          # the same: its code is rewritten


class Failed(Exception):
    pass


def run(argv, **kw):
    """A command to its end, or, after a time-out, the end of it and of all that it started."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors='replace', start_new_session=True, **kw)
    try:
        out, err = p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        raise Failed('%s\n    did not end in %d seconds' % (' '.join(argv), LIMIT)) from None
    return subprocess.CompletedProcess(argv, p.returncode, out, err)


def must(argv, **kw):
    p = run(argv, **kw)
    if p.returncode:
        raise Failed('%s\n    status %d: %s' % (' '.join(argv), p.returncode, p.stderr.strip()[:600]))
    return p


def plain_name(name):
    """Without what optimisers append to the name of a copy, and uft (@file) to a name that is not unique."""
    name = re.sub(r'@[^@ ]+$', '', name)
    name = re.sub(r' \[clone [^]]*\]', '', name)
    return re.sub(r'(\.(lto_priv|constprop|isra|part|llvm|cold))?(\.\d+)+$', '', name)


class Builder:
    """Makes programs; objects that are the same in several cells are made once."""

    def __init__(self, uft, top):
        self.uft, self.top = uft, top
        self.lock = threading.Lock()
        self.made = {}
        self.link_flags = {}

    def once(self, table, key, make):
        with self.lock:
            lock, box = table.setdefault(key, (threading.Lock(), []))
        with lock:
            if not box:
                try:
                    box.append(make())
                except Failed as e:
                    box.append(e)
        if isinstance(box[0], Failed):
            raise box[0]
        return box[0]

    def driver(self, cell):
        if cell.lang == 'c':
            return [cell.compiler]
        return [{'gcc': 'g++', 'clang': 'clang++'}[cell.compiler]]

    def compile_flags(self, cell):
        flags = MODES[cell.mode].flags.split() + ['-' + cell.opt, '-Wall', '-Wextra', '-Werror']
        flags.append('-fcf-protection=' + {'cf': 'full', 'nocf': 'none'}[cell.cf])
        if cell.gc == 'gc':
            flags += ['-ffunction-sections', '-fdata-sections']
        if cell.lto == 'lto':
            flags.append('-flto')
        return flags

    def compile(self, cell, source, flags):
        lang = ['-x', {'c': 'c', 'c++': 'c++'}[cell.lang]] if not source.endswith('.S') else []
        argv = self.driver(cell) + lang + flags + ['-c', os.path.join(HERE, source)]

        def make():
            out = os.path.join(self.top, 'o%d.o' % abs(hash(tuple(argv))))
            must(argv + ['-o', out])
            return out
        return self.once(self.made, tuple(argv), make)

    def uft_link_flags(self, cell):
        """What `uft cflags --link` says for the cell's kind of calls."""
        flags = MODES[cell.mode].flags
        mode = ('patchable' if '-fpatch' in flags else 'nop-mcount' if '-mnop' in flags else
                'record-mcount' if '-mrecord' in flags else 'fentry' if '-mfentry' in flags else 'mcount')
        argv = [self.uft, 'cflags', '--quiet', '--link', '--mode=' + mode, '--cc=' + self.driver(cell)[0]]
        return self.once(self.link_flags, tuple(argv), lambda: must(argv).stdout.split())

    def extra_link(self, cell):
        """The archive and linker scripts, where the cell needs them."""
        kind = MODES[cell.mode].kind
        flags = self.uft_link_flags(cell)
        script = [f for f in flags if f.startswith('-Wl,-T,')]
        # gcc's link-time compiler wants -pg again, and -pg links gcrt1.o: the archive keeps gprof away.
        wants_pg = cell.lto == 'lto' and cell.compiler == 'gcc' and '-pg' in MODES[cell.mode].flags
        if kind == 'start' or (wants_pg and kind != 'own'):
            return [f for f in flags if f != '-no-pie']
        if wants_pg:
            return script + [flags[-1]]
        return script

    def objects(self, cell, where):
        flags = self.compile_flags(cell)
        out = {}
        for name in SOURCES:
            pic = '-fPIC' if cell.link == 'shared' and name == 'lib' else PIC_FLAG[cell.link]
            out[name] = self.compile(cell, name + '.c', flags + [pic])
        out['report'] = self.compile(cell, 'report.c', ['-O1', PIC_FLAG[cell.link]])
        if MODES[cell.mode].kind == 'own':
            out['own'] = self.compile(cell, 'own.S', ['-fcf-protection=full'])
        if MODES[cell.mode].kind in ('tool', 'nop'):
            for name in SOURCES:
                out[name] = shutil.copy(out[name], os.path.join(where, name + '.o'))
            argv = [self.uft, 'recordmcount', '--quiet'] + ['--nop'] * (MODES[cell.mode].kind == 'nop')
            must(argv + [out[n] for n in SOURCES])
        return out

    def build(self, cell, where):
        """Returns the files that make up the program, unstripped."""
        objs = self.objects(cell, where)
        link = ['-fuse-ld=' + cell.ld] + self.extra_link(cell)
        if cell.gc == 'gc':
            link.append('-Wl,--gc-sections')
        if cell.lto == 'lto':
            again = self.compile_flags(cell)
            if cell.compiler == 'clang':
                again = [f for f in again if f != '-pg']
            link = again + link
        prog = os.path.join(where, 'prog')
        files = [prog]
        if cell.link == 'shared':
            lib = os.path.join(where, 'libpart.so')
            # Own mcount: the library's calls are for the program's, not for the archive's.
            own = MODES[cell.mode].kind == 'own'
            must(self.driver(cell) + ['-shared', '-o', lib, objs.pop('lib')] +
                 [f for f in link if not (own and f.endswith('.a'))])
            files.append(lib)
        order = [objs[n] for n in ('main', 'work', 'lib', 'report', 'own') if n in objs]
        must(self.driver(cell) + [LINK_FLAG[cell.link], '-o', prog] + order + files[1:] + link)
        return files


def read_counts(text):
    """The program's own report: counted and expected calls by name, and calls of its own mcount."""
    counted, expected, own = Counter(), Counter(), None
    for line in text.splitlines():
        f = line.split('\t')
        if len(f) == 2 and f[1] == 'own':
            own = int(f[0])
        elif len(f) == 3:
            counted[f[2]] += int(f[0])
            expected[f[2]] += int(f[1])
    return counted, expected, own


def functions_of(files):
    """Names by (base name of the file, address), of unstripped files."""
    names = {}
    for path in files:
        for line in must(['nm', '-C', '--defined-only', path]).stdout.splitlines():
            addr, kind, name = line.split(' ', 2)
            if kind in 'tTwWiI' and plain_name(name) and not re.search(r'\.cold\b|^\$|^\.L', name):     # $x, .LPFE: no functions
                names.setdefault((os.path.basename(path), int(addr, 16)), set()).add(plain_name(name))
    return names


def check_sites(sitecount, cell, files, names, expected):
    """
    Each function of the program has one place, and what has one is a function of the program.
    Returns the number of places, and the names of functions that were left out because their pad is too small.
    """
    found, small = Counter(), set()
    for line in must([sitecount] + files).stdout.splitlines():
        kind, skip, _, func, path = line.split('\t')
        where = (os.path.basename(path), int(func, 16))
        if int(skip) == PAD_SMALL:
            small.add(where)
        elif int(skip) in (0, BEFORE) or int(kind) == OWN_CALL:
            found[where] += 1
    for where, n in found.items():
        known = names.get(where, set())
        if n != 1:
            raise Failed('%d sites in %s' % (n, known or where))
        if not any(k in expected or MADE.match(k) for k in known):
            raise Failed('a site at %s+%#x, which is %s' % (where[0], where[1], known or 'no function'))
    left_out = set()
    for where, known in names.items():
        wanted = [k for k in known if k in expected]
        if wanted and not found[where] and MODES[cell.mode].kind != 'none':
            if not may_be_too_small(cell) or (has_list(cell) and where not in small):
                raise Failed('no site in %s at %s+%#x' % (wanted[0], where[0], where[1]))
            left_out.update(wanted)
    return sum(found.values()), left_out


def record(uft, tracer, prog, where, filters):
    """One recording: the program's output, and calls by name as uft reports them."""
    out = os.path.join(where, tracer + '.uft')
    p = run([uft, 'record', '-p', tracer, '-o', out] + filters + [prog], cwd=where)
    if p.returncode:
        raise Failed('%s: status %d: %s' % (tracer, p.returncode, p.stderr.strip()[:600]))
    stat = dict(l.split(': ', 1) for l in must([uft, 'stat', out]).stdout.splitlines() if ': ' in l)
    if stat.get('lost') != '0':
        raise Failed('%s: lost %s' % (tracer, stat.get('lost')))
    calls = Counter()
    for line in must([uft, 'report', '--no-pager', '--profile', '--demangle=full', out]).stdout.splitlines():
        f = line.split(None, 8)     # calls, seven figures, name
        if len(f) == 9 and f[0].isdigit():
            calls[f[8]] += int(f[0])
    return p.stdout, calls


def check_recording(uft, tracer, cell, prog, where, names, untraced, expected, is_plain, how=()):
    filters = list(how)
    filters += ['-l', '*', '-l', '*:mod:libpart.so'] if is_plain and cell.link == 'shared' else []
    text, calls = record(uft, tracer, prog, where, filters)
    if text != untraced:
        raise Failed('%s: the program printed something else:\n%s' % (tracer, text))
    if not calls:
        raise Failed('%s: no event' % tracer)
    got = Counter()
    for name, n in calls.items():
        m = re.match(r'(.*)\+0x([0-9a-f]+)$', name)
        known = names.get((m.group(1), int(m.group(2), 16)), set()) if m else {name}
        got[plain_name(sorted(known)[0]) if known else name] += n
    bad = [n for n, c in expected.items() if got[n] != c]
    # Functions left alone: where code is at fixed addresses some number in a static libc may look like one inside an
    # entry; without symbols a function that others only jump to is not known from a part of one.
    if is_plain and (cell.link == 'static' or cell.strip == 'strip') and len(bad) == 1 and not got[bad[0]]:
        bad = []
    wrong = ['%s: recorded %d, counted %d' % (n, got[n], expected[n]) for n in bad]
    # Of plain functions there are more: the compiler's start-up code, a static libc.
    wrong += ['%s: recorded %d, not a function of the program' % (n, c) for n, c in got.items()
              if n not in expected and not MADE.match(n) and not is_plain]
    if wrong:
        raise Failed('%s: %s' % (tracer, '; '.join(wrong[:6])))
    return sum(calls.values())


def check_cell(cell, builder, opts):
    where = os.path.join(builder.top, '_'.join(cell).replace(',', '+'))
    os.mkdir(where)
    text = refusal(cell)
    if text:
        try:
            builder.objects(cell, where)
        except Failed as e:
            if text not in str(e).replace('\u2018', "'").replace('\u2019', "'"):
                raise Failed('refused, but not with "%s": %s' % (text, e))
            return 'refused', 0, 0
        raise Failed('not refused any more: take it off the list')
    files = builder.build(cell, where)
    p = must([files[0]], cwd=where, env=dict(os.environ, LD_LIBRARY_PATH=where))
    counted, expected, own = read_counts(p.stdout)
    if counted != expected or not counted:
        raise Failed('untraced: counted %s' % {k: (counted[k], v) for k, v in expected.items() if counted[k] != v})
    if (MODES[cell.mode].kind == 'own') != (own is not None) or (own is not None and own < sum(counted.values())):
        raise Failed("untraced: the program's own mcount was called %s times" % own)
    if os.path.exists(os.path.join(where, 'gmon.out')):
        raise Failed('untraced: it left a gmon.out')
    names = functions_of(files)
    if cell.strip == 'strip':
        must(['strip'] + files)
    sites, left_out = check_sites(opts.sites, cell, files, names, expected)
    is_plain = not sites
    for name in left_out if sites else ():
        del expected[name]
    events = 0
    if not opts.build_only:
        os.environ['LD_LIBRARY_PATH'] = ''
        for tracer in ('function_graph', 'function'):
            events += check_recording(opts.uft, tracer, cell, files[0], where, names, p.stdout, expected, is_plain)
    return 'too small' if left_out else 'ok', sites, events


def parse_args():
    a = argparse.ArgumentParser(description='the build-mode matrix')
    a.add_argument('--uft', required=True)
    a.add_argument('--sites', required=True, help='the program sitecount')
    a.add_argument('--only', action='append', default=[], help='only cells whose name contains TEXT (all of them)')
    a.add_argument('--build-only', action='store_true', help='do not record')
    a.add_argument('--keep', metavar='DIR', help='work there and keep everything')
    a.add_argument('-j', type=int, default=os.cpu_count(), metavar='N')
    return a.parse_args()


def main():
    opts = parse_args()
    opts.uft = os.path.abspath(opts.uft)
    cells = all_cells()
    if len(cells) != CELLS:
        print('FAIL: there are %d cells, not %d' % (len(cells), CELLS))
        return 1
    cells = [c for c in cells if all(t in '/'.join(c) for t in opts.only)]
    missing = [t for t in ('gcc', 'g++', 'clang', 'clang++', 'ld.lld', 'nm', 'strip') if not shutil.which(t)]
    if missing:
        print('SKIP: %s not installed' % ', '.join(missing))
        return 77
    top = opts.keep or tempfile.mkdtemp(prefix='uft-matrix.')
    os.makedirs(top, exist_ok=True)
    builder = Builder(opts.uft, top)
    total, failed, start = Counter(), 0, time.monotonic()

    def one(cell):
        try:
            return cell, check_cell(cell, builder, opts), None
        except (Failed, OSError, ValueError) as e:
            return cell, None, e
        finally:
            if not opts.keep:
                shutil.rmtree(os.path.join(top, '_'.join(cell).replace(',', '+')), ignore_errors=True)

    with ThreadPoolExecutor(opts.j) as pool:
        for cell, result, error in pool.map(one, cells):
            if error:
                failed += 1
                print('FAIL %s\n    %s' % ('/'.join(cell), error), flush=True)
                continue
            total[result[0]] += 1
            total['sites'] += result[1]
            total['events'] += result[2]
    if not opts.keep:
        shutil.rmtree(top, ignore_errors=True)
    print('%d cells: %d ok, %d refused as listed, %d with pads too small, %d failed; %d sites, %d events; %.0f s' %
          (len(cells), total['ok'], total['refused'], total['too small'], failed, total['sites'], total['events'],
           time.monotonic() - start))
    return 1 if failed or not total['ok'] else 0


if __name__ == '__main__':
    sys.exit(main())
