# SPDX-License-Identifier: MIT
"""work.py - json, re, threads, a child process, exceptions, ctypes; its output is the same every time"""
import json, re, threading, subprocess, hashlib, random, sys, decimal, collections, zlib, itertools, ctypes, datetime
random.seed(7)
d = {str(i): [random.random(), {"x": i}, "é" * (i % 5)] for i in range(500)}
s = json.dumps(d, sort_keys=True); print(len(s), hashlib.sha256(s.encode()).hexdigest(), json.loads(s) == d)
print(len(re.findall(r'(\d+)\.(\d{3})', s)), re.sub(r'[aeiou]+', lambda m: m.group().upper(), "the quick brown fox"))
out = []
def w(n):
    t = 0
    for i in range(3000): t += (i * n) % 7
    out.append((n, t))
ts = [threading.Thread(target=w, args=(n,)) for n in range(6)]
for t in ts: t.start()
for t in ts: t.join()
print(sorted(out))
print(subprocess.run(["/bin/sh", "-c", "echo child; exit 4"], capture_output=True))
try: 1 / 0
except ZeroDivisionError as e: print(repr(e))
def gen(n):
    for i in range(n):
        try: yield i
        finally: pass
print(sum(gen(1000)), decimal.Decimal(2) ** 100, zlib.crc32(zlib.compress(s.encode(), 9)) is not None)
class A:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
print([a.v for a in sorted(A(random.randrange(1000)) for _ in range(20))])
print(ctypes.CDLL(None).strlen(b"hello"), collections.Counter("mississippi").most_common(2), datetime.date(2024, 2, 29).isoformat())
sys.setrecursionlimit(5000)
def r(n): return 0 if n == 0 else 1 + r(n - 1)
print(r(900)); print(sorted(itertools.permutations("abc"))[3], f"{1e100:.3g} {2**200}")
