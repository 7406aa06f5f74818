# SPDX-License-Identifier: MIT
"""hostile_uft.py CASE FILE - write a recording that no recorder made (stream/wire/uft_file.h): small, and expensive for a careless reader"""
import os, struct, sys

P = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
ALL = (1 << 64) - 1

def xxh64(b):
    n, at = len(b), 0
    def turn(v, k):
        v &= ALL
        return (v << k | v >> (64 - k)) & ALL
    def step(acc, word):
        return turn(acc + word * P[1], 31) * P[0] & ALL
    if n >= 32:
        v = [(P[0] + P[1]) & ALL, P[1], 0, -P[0] & ALL]
        words = struct.unpack_from('<%dQ' % (n // 32 * 4), b)
        for i in range(0, len(words), 4):
            v = [step(v[k], words[i + k]) for k in range(4)]
        at = n // 32 * 32
        h = sum(turn(x, k) for x, k in zip(v, (1, 7, 12, 18))) & ALL
        for x in v:
            h = ((h ^ step(0, x)) * P[0] + P[3]) & ALL
    else:
        h = P[4]
    h = (h + n) & ALL
    for at in range(at, n - 7, 8):
        h = (turn(h ^ step(0, struct.unpack_from('<Q', b, at)[0]), 27) * P[0] + P[3]) & ALL
    at = n // 8 * 8
    if n - at >= 4:
        h = (turn(h ^ struct.unpack_from('<I', b, at)[0] * P[0], 23) * P[1] + P[2]) & ALL
        at += 4
    for c in b[at:]:
        h = turn(h ^ c * P[4], 11) * P[0] & ALL
    for shift, p in ((33, P[1]), (29, P[2])):
        h = (h ^ h >> shift) * p & ALL
    return h ^ h >> 32

def u(*values):
    out = bytearray()
    for v in values:
        while v >= 0x80:
            out.append(v & 0x7f | 0x80)
            v >>= 7
        out.append(v)
    return bytes(out)

def s(v):
    return u((v << 1 ^ v >> 63) & ALL)

def text(t):
    return u(len(t)) + t

SETUP, INFO, SLICE, IMAGE, OBJECT, SITES, FUNCS, TASKS, CLOCK = range(1, 10)
END, RING = 12, 32
START = 1000000

def block(kind, data, slice_=0, ring=0, position=0):
    head = struct.pack('<QHHIIIIIQQQ', 0x4b434f4c42544655, kind, 0, slice_, ring, len(data), len(data), 0, position, START, xxh64(data))
    return head + struct.pack('<Q', xxh64(head)) + data + b'\0' * (-len(data) % 8)

def header(tracer):
    head = struct.pack('<QIIIIIIIIQQ', 0x31454c4946544655, 1, 9, tracer, 2, 2, 1 << 22, 1 << 20, 0, 10 ** 18, 0)
    return head + struct.pack('<Q', xxh64(head))

def record(kind, value, clock):
    return struct.pack('<Q', kind << 60 | value << 32 | clock)

def sub_buffer(pid, tid, records):
    return struct.pack('<QQQII', 0, 0, START, pid, tid) + records

def calls(pid, first, n=1):
    return sub_buffer(pid, pid, b''.join(record(3, first + i, START + 20 * i) + record(4, first + i, START + 20 * i + 10) for i in range(n)))

def recording(*blocks, tracer=2):
    head = header(tracer)
    return b''.join((head, block(SETUP, head), block(INFO, text(b'x') * 3), block(CLOCK, u(START, START, 10 ** 12, 10 ** 12)),
                     block(IMAGE, u(1) + text(b'/x')), block(SLICE, u(0, 1000, 1, 1, START, 0)), *blocks, block(END, b'')))

def named(names):
    """One object whose functions have these names and are called once each."""
    n = len(names)
    sites = u(1, 0, 0, n) + s(4096) + s(0) + (s(16) + s(0)) * (n - 1)
    funcs = [u(1) + b''.join(s(16 if i % 100 else 4096 + 16 * i) + u(16, 0) + text(names[i]) for i in range(k, min(k + 100, n)))
             for k in range(0, n, 100)]
    what = u(1, 0, 1) + text(b'/x') + u(0, 62, 3, 1000, 1) + s(0) + u(4096, 4096 + 16 * n, 0, 0, 1, n, 0, 0)
    return recording(block(OBJECT, what), block(SITES, sites), block(TASKS, u(1000, 1000, 1, 1) + text(b'x')),
                     block(RING, calls(1000, 1, n)), *(block(FUNCS, f) for f in funcs))

def ring():
    """A ring of the last number that there is."""
    return recording(block(RING, calls(1000, 5)), block(RING, calls(1000, 6), ring=0xffffffff))

def images():
    return recording(*(block(IMAGE, u(i) + text(b'x')) for i in range(2, 30000)), block(RING, calls(1000, 5)))

def tasks():
    """One thread, described 400,000 times, in 10,000 processes of its number."""
    described = block(TASKS, (u(1000, 1000, 1, 2) + text(b'x')) * 100000)
    return recording(*[described] * 4, *(block(SLICE, u(i, 1000, 1, 1, START, 0)) + block(RING, calls(1000, 5), slice_=i)
                                         for i in range(1, 10000)))

def brackets():
    """Names of brackets that do not close."""
    return named([b'_Z7804%s%04dv' % (b'a<' * 3900, i) for i in range(400)])

def files():
    """20,000 objects without names, whose files are one of 10 MB by as many names, which is none of theirs."""
    path = os.path.abspath(sys.argv[2] + '.file').encode()
    what = lambda i: (u(1, i, i + 1) + text(path.replace(b'/', b'//', 1).replace(b'files.uft', b'./' * (i % 100) + b'files.uft') if i else path) +
                      text(b'\x01' * 20 if i % 2 else b'') + u(62, 3, 12345, 1) + s(0) + u(4096 * (i + 1), 4096 * (i + 2), 0, 1, 0, 0, 0, 0))
    return recording(block(TASKS, u(1000, 1000, 1, 1) + text(b'x')), block(RING, calls(1000, 1)), *(block(OBJECT, what(i)) for i in range(20000)))

open(sys.argv[2], 'wb').write(globals()[sys.argv[1]]())
