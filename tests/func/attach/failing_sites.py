# SPDX-License-Identifier: MIT
"""failing_sites.py - input and counters of failing_calls.c"""
import os, struct, subprocess

SITES = 1024			# of failing_calls.c


def sites_in(to):
    """The places in uft that made calls; they are added to the file that UFT_PLACES names (failing_places.py)."""
    with open(to, 'rb') as f:
        words = struct.unpack('%dQ' % (2 * SITES), f.read(16 + 16 * SITES)[16:])
    sites = {site for site in words[::2] if site}
    if os.environ.get('UFT_PLACES'):
        with open(os.environ['UFT_PLACES'], 'a') as f:
            f.writelines('%x\n' % site for site in sorted(sites))
    return sites


def some_of(sites, n):
    """UFT_SITES of them (default @n; all), in the middle of parts of the same size; UFT_AT: those of PLACE[,PLACE...]."""
    at, some = os.environ.get('UFT_AT'), os.environ.get('UFT_SITES', str(n))
    if at is not None:
        return sorted(sites & {int(place, 16) for place in at.split(',')})
    sites, n = sorted(sites), len(sites) if some == 'all' else min(int(some), len(sites))
    return [sites[len(sites) * (2 * i + 1) // (2 * n)] for i in range(n)]


def within(uft, sites, *functions):
    """Those of @sites that lie in one of these functions."""
    try:
        lines = subprocess.run(['nm', '-n', '--defined-only', uft], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return set()
    symbols = [(int(w[0], 16), w[2]) for w in map(str.split, lines) if len(w) == 3 and w[1] in 'tT']
    ranges = [(lo, hi) for (lo, name), (hi, _) in zip(symbols, symbols[1:]) if name in functions]
    return {site for site in sites if any(lo < site <= hi for lo, hi in ranges)}


def environment(uft, shim, kind, at, site, to, more=0, is_fork=False):
    where = {'FAIL_SITE': '%x,%x' % (site, more)} if site else {}
    forks = {'FAIL_FORKS': '1'} if is_fork else {}
    return dict(os.environ, LD_PRELOAD=shim, FAIL_EXE=os.path.realpath(uft), FAIL_KIND=kind, FAIL_AT=str(at), FAIL_TO=to, **where, **forks)


class Sites:
    """A kind of calls, of uft or (@is_fork) of its guard: all work; then, for each of each(), the first call of site fails."""
    def __init__(self, scratch, kind, is_fork=False):
        self.scratch, self.kind, self.is_fork = scratch, kind, is_fork
        self.to, self.site, self.more = os.path.join(scratch, 'count'), 0, 0

    def next(self, site, more=0):
        self.site, self.more = site, more
        if os.path.exists(self.to):
            os.unlink(self.to)

    def environment(self, uft, shim):
        return environment(uft, shim, self.kind, 0, self.site, self.to, self.more, self.is_fork)

    def seen(self):
        return sites_in(self.to) if os.path.exists(self.to) else set()

    def each(self, n, needed=frozenset()):
        """A run each, of which the first is behind us; those @needed as well. With UFT_SITES=all two at a time, too: what a failure leads to."""
        known = self.seen()
        for site in sorted({*some_of(known, n), *(known & needed)}):
            self.next(site)
            yield '%#x' % (site - 1)
            later = self.seen() - known if os.environ.get('UFT_SITES') == 'all' else ()
            for more in sorted(later):
                known.add(more)
                self.next(site, more)
                yield '%#x and %#x' % (site - 1, more - 1)
