#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""race.py - attaches to processes that fork, execute and exit at any moment: each child does what it would have done"""
import os, subprocess, sys, time

uft, seconds = os.environ["UFT"], float(sys.argv[1]) if len(sys.argv) > 1 else 15
out = f"/tmp/uft-race.{os.getpid()}.uft"
kinds = [
    "exit 7",
    "true; true; exit 7",                                   # forks
    "exec sh -c 'exec sh -c \"exit 7\"'",                   # executes
    "(exit 3); sh -c 'exit 4'; exec sh -c 'exit 7'",
]
tried = attached = wrong = 0
told = {}
end = time.time() + seconds
batch = 0
while time.time() < end:
    batch += 1
    children = [subprocess.Popen(["/bin/sh", "-c", f"sleep 0.0{(batch * 7 + i) % 9}; " + kinds[i % len(kinds)]])
                for i in range(12)]
    victims = [str(c.pid) for c in children]
    for v in victims[batch % 3::3]:
        tried += 1
        r = subprocess.run(["timeout", "-k", "5", "-s", "INT", "0.4", uft, "attach", "-q", "-p", "function", "-o", out, v],
                           stderr=subprocess.PIPE, text=True)
        attached += "uft attach" not in r.stderr and "uft record:" not in r.stderr
        for line in r.stderr.splitlines():
            key = "".join(c for c in line if not c.isdigit())[:70]
            told[key] = told.get(key, 0) + 1
    for c in children:
        status = c.wait()
        if status != 7:
            wrong += 1
            print("a child ended with", status)
for f in (out, out + ".old"):
    if os.path.exists(f):
        os.unlink(f)
print(f"{tried} attaches, {attached} recorded, {batch * 12} processes, {wrong} wrong")
for key, n in sorted(told.items(), key=lambda kv: -kv[1])[:8]:
    print(f"  {n:5} {key}")
sys.exit(1 if wrong or tried < 10 else 0)
