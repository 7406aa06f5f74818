#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""race.py [SECONDS] - attach to processes that fork, execute and exit at any moment: each child behaves as without uft

UFT_RACES=5000: so many attaches, however long it takes. Four at a time, each left again after a moment that varies, so that exec, exit
and fork come at any point of attach and detach. A child that does not end with its 7, a uft that crashes or does not
end, and one that blames its agent, are failures."""
import concurrent.futures, os, subprocess, sys, tempfile, time

uft, seconds = os.environ["UFT"], float(sys.argv[1]) if len(sys.argv) > 1 else 15
races = int(os.environ.get("UFT_RACES", 0))
kinds = [
    "exit 7",
    "true; true; exit 7",                                   # forks
    "exec sh -c 'exec sh -c \"exit 7\"'",                   # executes
    "(exit 3); sh -c 'exit 4'; exec sh -c 'exit 7'",
    "n=200; x='[ $n -gt 0 ] || exit 7; n=$((n - 1)) exec sh -c \"$x\"'; export n x; eval \"$x\"",	# executes again and again
]
BLAMES = "agent", "remain", "permit"		# words for what did not happen: a process ended, or executed another program
tried = attached = wrong = batch = 0
told = {}


def race(pid, n, scratch):
    """What uft said, and whether it ended as it should."""
    out = os.path.join(scratch, f"{n % 4}-{pid}.uft")
    r = subprocess.run(["timeout", "-k", "30", "-s", "INT", f"0.{(n * 37) % 300 + 20:03}", uft, "attach", "-q", "-p", "function", "-o", out,
                        str(pid)], stderr=subprocess.PIPE, text=True)
    for f in (out, out + ".old"):
        if os.path.exists(f):
            os.unlink(f)
    return r.stderr, r.returncode in (0, 1, 124), r.returncode


end = time.time() + seconds
with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(4) as pool:
    while tried < races or (not races and (time.time() < end or tried < 10)):	# some, however slow the machine is
        batch += 1
        children = [subprocess.Popen(["/bin/sh", "-c", f"sleep 0.{(batch * 7 + i) % 29:02}; " + kinds[i % len(kinds)]])
                    for i in range(12)]
        victims = [c.pid for c in children][batch % 2::2]
        for said, is_well, status in pool.map(race, victims, range(tried, tried + len(victims)), [scratch] * len(victims)):
            tried += 1
            attached += "uft attach" not in said and "uft record:" not in said
            if not is_well:
                wrong += 1
                print("uft ended with", status, said, flush=True)
            if any(w in said for w in BLAMES):
                wrong += 1
                print(said, flush=True)
            for line in said.splitlines():
                key = "".join(c for c in line if not c.isdigit())[:70]
                told[key] = told.get(key, 0) + 1
        for c in children:
            status = c.wait()
            if status != 7:
                wrong += 1
                print("a child ended with", status, flush=True)
        if races and batch % 50 == 0:
            print(f"{tried} attaches so far, {attached} recorded, {wrong} wrong", flush=True)
print(f"{tried} attaches, {attached} recorded, {batch * 12} processes, {wrong} wrong")
for key, n in sorted(told.items(), key=lambda kv: -kv[1])[:8]:
    print(f"  {n:5} {key}")
sys.exit(1 if wrong or tried < 10 else 0)
