#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what mkdat wrote with stock tools and compares.

    check.py MKDAT [KSHARK-READ]

trace-cmd must print every event, with its function's name, nesting, duration and losses, from each version of the file,
and take its usual options; KernelShark's library must load the same entries. Exit 77 without trace-cmd.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

FORMATS = ["trace.dat-v6", "trace.dat-v7", "trace.dat"]
failures = 0


def run(*args, ok=True):
    r = subprocess.run(args, capture_output=True, text=True, errors="replace")
    if ok and r.returncode:
        fail(f"{' '.join(args)}: exit {r.returncode}: {r.stderr.strip()[:300]}")
    return r


def fail(text):
    global failures
    failures += 1
    print("FAIL", text)


def expect(what, got, want):
    if got != want:
        fail(f"{what}: got {got!r:.300}, want {want!r:.300}")


LINE = re.compile(r"^ *(?P<comm>.*)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] +(?P<ts>[\d.]+): (?P<name>\S+): +(?P<body>.*)$")


def report(path, *opts):
    """Rows of trace-cmd report, dropped counts by cpu, and what it said on stderr."""
    r = run("trace-cmd", "report", *opts, path)
    rows, dropped = [], collections.Counter()
    for line in r.stdout.splitlines():
        m = LINE.match(line)
        d = re.match(r"CPU:(\d+) \[(\d+) EVENTS DROPPED\]", line)
        if m:
            rows.append(m.groupdict())
        elif d:
            dropped[int(d[1])] += int(d[2])
        elif line and not line.startswith("cpus="):
            fail(f"{path}: unexpected line {line!r}")
    if r.stderr.strip():
        fail(f"{path}: trace-cmd complains: {r.stderr.strip()[:300]}")
    return rows, dropped


def parse_expected(text):
    cpus, lost, events = {}, {}, 0
    for line in text.splitlines():
        w = line.split()
        if w[0] == "cpu":
            cpus[int(w[1])] = int(w[2])
        elif w[0] == "lost":
            lost[int(w[1])] = int(w[2])
        else:
            events = int(w[1])
    return cpus, lost, events


def records(rows):
    """Events by cpu: a leaf's line stands for two."""
    n = collections.Counter()
    for r in rows:
        n[int(r["cpu"])] += 2 if r["name"] == "funcgraph_entry" and r["body"].endswith("();") else 1
    return dict(n)


def check_function(path, rows):
    names = collections.Counter(r["body"].split(" <-- ")[0] for r in rows)
    expect(f"{path} C++ name", names["ns::f0(int,char_const*)"], 58)
    expect(f"{path} names", sum(names[f"func_{i}"] for i in range(50)), 20000 - sum(1 for i in range(20000) if i % 7 == 0))
    expect(f"{path} tasks", collections.Counter((r["comm"], r["pid"]) for r in rows),
           {("main", "101"): 6667, ("wor ker", "102"): 6667, ("fifteen-letters", "4194303"): 6666})
    expect(f"{path} first time", rows[0]["ts"], "5.300000")
    expect(f"{path} last time", rows[-1]["ts"], f"{(5000000000 + 20 * 300000000 + (20000 - 20) * 137) / 1e9:.6f}")
    parents, _ = report(path, "-O", "parent")
    expect(f"{path} parents", {r["body"].split(" <-- ")[1] for r in parents}, {"main"})


def check_graph(path, rows):
    depth = {}
    for r in rows:
        time, body = r["body"].split("|")
        d = (len(body) - len(body.lstrip()) - 2) // 2
        body = body.strip()
        expected = depth.get(r["cpu"], 0) - (1 if body.startswith("}") else 0)
        if d != expected:
            fail(f"{path}: depth {d} at {r}, want {expected}")
            return
        want = ["outer", "middle", "inner", "leaf"][d]
        if body.startswith("}"):
            depth[r["cpu"]] = d
            ns = {0: 21500, 1: 9500, 2: 3500}[d]
        elif body == f"{want}();":
            depth[r["cpu"]] = d
            ns = 500
        elif body == want + "() {":
            depth[r["cpu"]] = d + 1
            continue
        else:
            fail(f"{path}: {body!r} at depth {d}")
            return
        if f"{ns / 1000:.3f} us" not in time:
            fail(f"{path}: duration {time!r} of {body!r} at depth {d}, want {ns} ns")
            return
    expect(f"{path} balance", set(depth.values()), {0})


def check_raw(path):
    rows, _ = report(path, "-R")
    exits = [r for r in rows if r["name"] == "funcgraph_exit"]
    expect(f"{path} -R", len(rows), 12000)
    for r in exits:
        f = dict(w.split("=") for w in r["body"].split())
        ns = int(f["rettime"], 16) - int(f["calltime"], 16)
        if {"outer": 21500, "middle": 9500, "inner": 3500, "leaf": 500}[f["func"]] != ns or f["overrun"] != "0":
            fail(f"{path}: {r}")
            return


def check_graph_options(path):
    rows, _ = report(path, "-F", "funcgraph_entry: depth == 3")
    expect(f"{path} -F depth", len(rows), 3200)
    rows, _ = report(path, "-F", 'funcgraph_entry: func == "inner"')
    expect(f"{path} -F func", len(rows), 1600)
    rows, _ = report(path, "--cpu", "1")
    expect(f"{path} --cpu", {(r["cpu"], r["comm"]) for r in rows}, {("001", "second")})
    expect(f"{path} --cpu count", records(rows), {1: 6000})
    rows, _ = report(path, "-t")
    expect(f"{path} -t", rows[0]["ts"], "0.001001000")
    rows, _ = report(path, "-O", "tailprint")
    expect(f"{path} tail", sum("} /* outer */" in r["body"] for r in rows), 400)
    check_raw(path)


def check_meta(path, version):
    summary = run("trace-cmd", "dump", "--summary", path).stdout
    if f"{version}\t[Version]" not in summary:
        fail(f"{path}: dump --summary: {summary[:300]}")
    r = run("trace-cmd", "dump", "--all", path)
    if r.stderr.strip():
        fail(f"{path}: dump --all: {r.stderr.strip()[:300]}")
    for word in ["[mono]", "funcgraph_exit", "Linux host 6.1"]:
        if word not in r.stdout:
            fail(f"{path}: dump --all lacks {word}")
    run("trace-cmd", "dump", "--validate", path)


def check_kshark(reader, path, expected, rows):
    cpus, lost, events = expected
    r = run(reader, path)
    got, tasks, funcs, overflow = {}, {}, {}, set()
    for line in r.stdout.splitlines():
        w = line.split()
        if w[0] == "cpu":
            got[int(w[1])] = int(w[2])
        elif w[0] == "events":
            expect(f"{path} kshark events", int(w[1]), events)
        elif w[0] == "overflow":
            overflow.add(int(w[1]))
        elif w[0] == "task":
            tasks[" ".join(w[2:-1]), w[1]] = int(w[-1])
        elif w[0] == "func":
            funcs[w[1]] = int(w[-1])
    expect(f"{path} kshark cpus", got, cpus)
    expect(f"{path} kshark losses", overflow, set(lost))
    expect(f"{path} kshark tasks", set(tasks), {(r["comm"], r["pid"]) for r in rows})
    if "graph" in path:
        expect(f"{path} kshark calls", [funcs.get(f) for f in ("outer", "middle", "inner", "leaf")],
               [400, 800, 1600, 3200])


def check(kind, fmt, mkdat, kshark, tmp):
    path = os.path.join(tmp, f"{kind}.{fmt}.dat")
    expected = parse_expected(run(mkdat, kind, fmt, path).stdout)
    rows, dropped = report(path)
    expect(f"{path} events", records(rows), expected[0])
    expect(f"{path} lost", dict(dropped), expected[1])
    if kind == "function":
        check_function(path, rows)
    elif kind == "graph":
        check_graph(path, rows)
        check_graph_options(path)
        check_meta(path, 6 if fmt.endswith("6") else 7)
    elif kind == "thresh":
        expect(f"{path} exits", {r["name"] for r in rows}, {"funcgraph_exit"})
        expect(f"{path} durations", {"250.000 us" in r["body"] for r in rows}, {True})
    elif kind == "images":
        expect(f"{path} names", {(r["comm"], r["body"].split("_")[0]) for r in rows}, {("one", "one"), ("two", "two")})
        expect(f"{path} all names", len({r["body"] for r in rows}), 128)
    elif kind == "mixed":
        expect(f"{path} left", sum(r["name"] == "print" and r["body"] == "g: left" for r in rows), 1000)
    if kshark:
        check_kshark(kshark, path, expected, rows)


def check_failures(mkdat, tmp):
    r = run(mkdat, "graph", "trace.dat", os.path.join(tmp, "no/such/dir/x.dat"), ok=False)
    expect("missing directory", (r.returncode, "No such file or directory" in r.stderr), (1, True))
    for fmt in FORMATS:
        r = run(mkdat, "graph", fmt, "/dev/full", ok=False)
        expect(f"full device, {fmt}", (r.returncode, "No space left on device" in r.stderr), (1, True))
    expect("/dev/full is still there", os.path.exists("/dev/full"), True)
    path = os.path.join(tmp, "old.dat")
    for kind in ["big", "thresh"]:                          # the second is shorter
        run(mkdat, kind, "trace.dat-v7", path)
    expect("overwritten", records(report(path)[0]), {1: 100})
    expect("nothing else is left behind", [n for n in os.listdir(tmp) if n.startswith(".")], [])


def main():
    if not shutil.which("trace-cmd"):
        print("SKIP: trace-cmd is not installed")
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        for kind in ["function", "graph", "thresh", "images", "mixed", "big"]:
            for fmt in FORMATS:
                check(kind, fmt, sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None, tmp)
                print("checked", kind, fmt)
        check_failures(sys.argv[1], tmp)
    return failures != 0


sys.exit(main())
