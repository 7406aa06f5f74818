#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py - the summary at the end of a large recording, which needs no second pass"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
UFT = os.environ.get("UFT", os.path.join(TOP, "build", "uft"))
LARGE = 80 << 20	# more than record.c's COUNT_BYTES_MAX
SECONDS = 100
PROGRAM = """
#include <signal.h>
#include <sys/prctl.h>
static volatile long sum;
__attribute__((noinline)) void leaf(void) { sum++; }
__attribute__((noinline)) void both(void) { leaf(); leaf(); }
int main(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) both(); }
"""
failures = 0


def check(what, ok, detail=""):
    global failures
    if not ok:
        failures += 1
        print("FAIL: %s\n  %s" % (what, detail))


def wait_for(cond, what):
    end = time.time() + SECONDS
    while not cond():
        if time.time() > end:
            check(what, False, "not within %d s" % SECONDS)
            return
        time.sleep(0.01)


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def stat_of(path):
    out = subprocess.run([UFT, "stat", path], capture_output=True, text=True).stdout
    return dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)


def summary(path, argv):
    """Ended by SIGTERM when the file is large: the number is the writer's, of all that is in the file."""
    r = subprocess.Popen([UFT] + argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: size(path) > LARGE, "it is recorded")
    r.terminate()
    judge(path, argv, r.communicate(timeout=SECONDS)[1])


def judge(path, argv, said):
    m = re.search(r"uft: (about )?([0-9,]+) events in \S+ \(([0-9.]+) MB\)", said)
    if not m:
        return check("there is a summary", False, said)
    events, want = int(m[2].replace(",", "")), int(stat_of(path)["events"])
    check("%s: it was not read for the summary" % argv[0], m[1], said)
    check("%s: it knows the file's size" % argv[0], m[3] == "%.1f" % (size(path) / 1e6), said + str(size(path)))
    check("%s: events within 1 %%" % argv[0], abs(events - want) * 100 < want, said + str(want))


def main():
    tmp = tempfile.mkdtemp(prefix="uft-test.")
    os.chdir(tmp)
    with open("hot.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-fpatchable-function-entry=5", "-o", "hot", "hot.c"], check=True)
    p = subprocess.Popen(["./hot"])
    try:
        summary("a.uft", ["attach", "-b", "1M", "-o", "a.uft", str(p.pid)])
        p.kill()
        p.wait()
        summary("r.uft", ["record", "-b", "1M", "-o", "r.uft", "./hot"])
        # Events alone, which have their own lengths
        events = os.path.join(TOP, "tests", "golden", "hist")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-pthread", "-I" + os.path.join(TOP, "include"), "-I" + events,
                        "-I" + os.path.join(TOP, "include", "uft", "kernel"), "-o", "counted", os.path.join(events, "counted.c")], check=True)
        argv = ["record", "-b", "1M", "-e", "app:req", "-o", "e.uft", "./counted", "fire", "2600000"]
        judge("e.uft", argv, subprocess.run([UFT] + argv, stderr=subprocess.PIPE, text=True, timeout=SECONDS).stderr)
    finally:
        p.kill()
        os.chdir("/")
        shutil.rmtree(tmp, ignore_errors=True)
    sys.exit(failures != 0)


main()
