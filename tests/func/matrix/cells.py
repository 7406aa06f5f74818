# SPDX-License-Identifier: MIT
"""
cells.py - which cells the build-mode matrix has

A cell is one value for each axis. The full product has tens of thousands; the set is chosen so that
  - every MAIN mode has, with each compiler, every pair of values of the other axes (a covering array), and
  - every OTHER mode has, with each compiler, every value of the other axes at least once.
The choice is greedy and without chance, so that the set is the same everywhere; its size is asserted.
"""
from collections import namedtuple
from itertools import product

Mode = namedtuple('Mode', 'flags kind main')
# kind: what becomes of the objects and the link
#   plain    compile and link
#   list     the compiler lists the calls itself
#   tool     uft recordmcount; nop: with --nop
#   start    linked with libuft-start.a
#   own      the program has its own mcount and __fentry__
#   none     nothing prepares it
MODES = {
    'none': Mode('', 'none', True),
    'pfe=5': Mode('-fpatchable-function-entry=5', 'plain', True),
    'pfe=16,14': Mode('-fpatchable-function-entry=16,14', 'plain', False),
    'pfe=10,5': Mode('-fpatchable-function-entry=10,5', 'plain', False),
    'pfe=16,16': Mode('-fpatchable-function-entry=16,16', 'plain', True),
    'pfe=8,8': Mode('-fpatchable-function-entry=8,8', 'plain', False),
    'pfe=7,2': Mode('-fpatchable-function-entry=7,2', 'plain', False),
    'pfe=3': Mode('-fpatchable-function-entry=3', 'plain', False),
    'pfe=9': Mode('-fpatchable-function-entry=9', 'plain', False),
    'fentry-nop': Mode('-pg -mfentry -mrecord-mcount -mnop-mcount', 'list', True),
    'fentry': Mode('-pg -mfentry', 'plain', True),
    'fentry-list': Mode('-pg -mfentry -mrecord-mcount', 'list', False),
    'mcount': Mode('-pg', 'plain', True),
    'mcount-list': Mode('-pg -mrecord-mcount', 'list', False),
    'tool-fentry': Mode('-pg -mfentry', 'tool', False),
    'tool-mcount': Mode('-pg', 'tool', True),
    'tool-fentry-nop': Mode('-pg -mfentry', 'nop', True),
    'tool-mcount-nop': Mode('-pg', 'nop', False),
    'start-fentry': Mode('-pg -mfentry', 'start', True),
    'start-mcount': Mode('-pg', 'start', False),
    'own-fentry': Mode('-pg -mfentry', 'own', False),
    'own-mcount': Mode('-pg', 'own', True),
}
BEFORE = ('pfe=16,16', 'pfe=8,8')
COMPILERS = ('gcc', 'clang')
AXES = {
    'lang': ('c', 'c++'),
    'opt': ('O0', 'O1', 'O2', 'O3'),
    'lto': ('nolto', 'lto'),
    'gc': ('nogc', 'gc'),
    'link': ('pie', 'nopie', 'shared', 'static', 'static-pie'),
    'cf': ('nocf', 'cf'),
    'strip': ('syms', 'strip'),
    'ld': ('bfd', 'lld'),
}
Cell = namedtuple('Cell', ['mode', 'compiler'] + list(AXES))

# What a compiler refuses, with its own message: (mode, compiler, link kinds) -> text. These are cells as well.
PIC = ('pie', 'shared', 'static-pie')
REFUSED = {
    ('fentry-nop', 'gcc', PIC): "'-mnop-mcount' is not implemented for '-fPIC'",
    ('fentry-nop', 'clang', AXES['link']): "unsupported option '-mnop-mcount'",
    ('fentry-list', 'clang', AXES['link']): "unsupported option '-mrecord-mcount'",
    ('mcount-list', 'clang', AXES['link']): "unsupported option '-mrecord-mcount'",
}


def refusal(cell):
    for (mode, compiler, links), text in REFUSED.items():
        if (cell.mode, cell.compiler) == (mode, compiler) and cell.link in links:
            return text
    return None


def may_be_too_small(cell):
    """Pads with no room for a call or jump: those functions are not traced, and uft says so."""
    # With -fcf-protection an endbr64 comes between the 14 bytes before the entry and the 2 behind it: without a list
    # it looks like unprepared code. Nor, in a static program, are pads before entries told from nothing.
    return (cell.mode == 'pfe=3' or (cell.mode == 'pfe=16,14' and cell.cf == 'cf') or
            (cell.mode in BEFORE and not has_list(cell) and cell.link in ('static', 'static-pie')))


def has_list(cell):
    """gcc's list of patchable entries does not survive the link of C++ (uft-no-pfe.ld)."""
    return cell.compiler == 'clang' or cell.lang == 'c'


def is_legal(cell):
    """Combinations that do not exist. A compiler's refusal is not among them."""
    if cell.lto == 'lto':
        # gcc's link-time code needs GNU ld; objects of link-time code hold no calls for recordmcount.
        if cell.compiler == 'gcc' and cell.ld != 'bfd':
            return False
        if MODES[cell.mode].kind in ('tool', 'nop'):
            return False
    # Without symbols and dynamic relocations nothing says that the function called is the program's own mcount.
    if MODES[cell.mode].kind == 'own' and cell.strip == 'strip' and cell.link in ('static', 'static-pie'):
        return False
    return True


def cover(cells, keys):
    """The fewest (greedily) of @cells that have all sets of values keys(cell) gives."""
    wanted = [frozenset(keys(c)) for c in cells]
    missing = frozenset().union(*wanted) if wanted else frozenset()
    chosen = []
    while missing:
        best = max(range(len(cells)), key=lambda i: (len(wanted[i] & missing), -i))
        missing -= wanted[best]
        chosen.append(cells[best])
    return chosen


def values(cell):
    return [(k, getattr(cell, k)) for k in AXES]


def pairs(cell):
    v = values(cell)
    return [(v[i], v[j]) for i in range(len(v)) for j in range(i)]


def all_cells():
    out = []
    for mode, m in MODES.items():
        for compiler in COMPILERS:
            every = [Cell(mode, compiler, *v) for v in product(*AXES.values())]
            # Start at a different place for each mode, so that modes do not all meet the same combinations.
            turn = 97 * len(out) % len(every)
            every = [c for c in every[turn:] + every[:turn] if is_legal(c)]
            refused = [c for c in every if refusal(c)]
            built = [c for c in every if not refusal(c)]
            out += cover(built, pairs if m.main else values)
            out += cover(refused, lambda c: [('link', c.link), ('lang', c.lang)])
    return out


if __name__ == '__main__':
    for c in all_cells():
        print('/'.join(c), 'refused' if refusal(c) else '')
