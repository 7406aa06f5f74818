#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dump_unread.py UFT TARGET KIND - func:dump to a standard error that nobody reads, a tty or a socket, and a warning behind it: the session goes on; read
again, it shows dumps"""
import ctypes
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time

SECONDS = 60
UFT, TARGET, KIND = sys.argv[1:]

PTRACE_SEIZE = 0x4206
# No other session can attach to it, which that session reports.
TAKEN = subprocess.Popen(["sleep", "1000"])
if ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, TAKEN.pid, None, None):
    sys.exit("cannot trace a child: %s" % os.strerror(ctypes.get_errno()))

# Says `answered` when the session did: a dump of 9,000 lines does not fit into what a terminal or a socket holds.
COMMANDS = """cd /sys/kernel/tracing
%s 1; echo function >current_tracer; echo :mod:%s >set_ftrace_filter; %s 3000; echo lonely:dump >>set_ftrace_filter; %s 1
{ echo %d >set_ftrace_pid; } 2>/dev/null; echo answered $? $(cat tracing_on); read line
echo "!lonely:dump" >>set_ftrace_filter; echo >trace; echo lonely:dump >>set_ftrace_filter; echo 1 >tracing_on; %s 1; echo again $(cat tracing_on); read line
""" % (TARGET, os.path.basename(TARGET), TARGET, TARGET, TAKEN.pid, TARGET)


def ends():
    """Ours, and the session's standard error."""
    if KIND == "tty":
        return pty.openpty()
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def read_until(fd, text, seen=b""):
    """What came, up to @text; all there is for some time if there is none."""
    end = time.time() + SECONDS
    while time.time() < end and text not in seen:
        if not select.select([fd], [], [], 1)[0]:
            continue
        data = os.read(fd, 65536)
        if not data:
            break
        seen += data
    return seen


def main():
    master, slave = ends()
    session = subprocess.Popen([UFT, "shell", "-c", "exec bash -c '%s'" % COMMANDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave,
                               bufsize=0, start_new_session=True)
    os.close(slave)
    try:
        out = read_until(session.stdout.fileno(), b"\n")
        if out != b"answered 1 0\n":
            sys.exit("the session does not answer while nobody reads its dump and its warning: %r" % out)
        while select.select([master], [], [], 1.5)[0]:		# longer than the session waits for a reader
            os.read(master, 65536)
        session.stdin.write(b"\n")
        err = read_until(master, b": lonely <-")
        if b"Dumping ftrace buffer:" not in err or b": lonely <-" not in err:
            sys.exit("no dump for who reads again: %r" % err)
        session.stdin.write(b"\n")
        out = read_until(session.stdout.fileno(), b"\n")
        if out != b"again 0\n":
            sys.exit("after that: %r" % out)
        session.stdin.close()
        session.wait(SECONDS)
    finally:
        TAKEN.kill()
        if session.poll() is None:
            os.killpg(session.pid, signal.SIGKILL)
            session.wait()


main()
