# SPDX-License-Identifier: MIT
"""failing_sites.py - input and counters of failing_calls.c"""
import os, struct, subprocess

SITES = 1024			# of failing_calls.c


def sites_in(to):
    """The places in uft that made calls."""
    with open(to, 'rb') as f:
        words = struct.unpack('%dQ' % (2 * SITES), f.read(16 + 16 * SITES)[16:])
    return {site for site in words[::2] if site}


def some_of(sites, n):
    """UFT_SITES of them (default @n; all), in the middle of parts of the same size."""
    some = os.environ.get('UFT_SITES', str(n))
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


def environment(uft, shim, kind, at, site, to):
    where = {'FAIL_SITE': '%x' % site} if site else {}
    return dict(os.environ, LD_PRELOAD=shim, FAIL_EXE=os.path.realpath(uft), FAIL_KIND=kind, FAIL_AT=str(at), FAIL_TO=to, **where)


class Sites:
    """A kind of calls: all work; behind next(SITE) the first one of SITE fails."""
    def __init__(self, scratch, kind):
        self.scratch, self.kind, self.to, self.site = scratch, kind, os.path.join(scratch, 'count'), 0
        self.next(0)

    def next(self, site):
        self.site = site
        if os.path.exists(self.to):
            os.unlink(self.to)

    def environment(self, uft, shim):
        return environment(uft, shim, self.kind, 0, self.site, self.to)

    def seen(self):
        return sites_in(self.to)
