#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py - uft on a terminal: status line, Ctrl-C once and twice, job control, pager, colour, exports and uft pack that are ended

Each case gets a pseudo terminal of its own as controlling terminal, so that the keyboard's signals are the kernel's."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
UFT = os.environ.get("UFT", os.path.join(TOP, "build", "uft"))
LONG = 100		# seconds, for what must come
failures = 0
checks = 0


def check(what, ok, detail=b""):
    global failures, checks
    checks += 1
    if not ok:
        failures += 1
        print("FAIL: %s%s" % (what, "\n  " + repr(detail) if detail else ""))


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, argv, env=None):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
                signal.signal(sig, signal.SIG_DFL)	# whatever we were started with, as a job in the background
            os.environ.update({"TERM": "xterm", "PAGER": "cat", "NO_COLOR": ""})
            os.environ.update(env or {})
            os.execvp(argv[0], argv)

    def read(self, seconds, until=None):
        """Reads for some seconds, or until some text was seen."""
        end = time.time() + seconds
        while (left := end - time.time()) > 0 and (until is None or until not in self.seen):
            if not select.select([self.fd], [], [], min(0.05, left))[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data
        return until is not None and until in self.seen

    def read_until(self, fact):
        end = time.time() + LONG
        while not fact() and time.time() < end:
            self.read(0.05)
        return fact()

    def type(self, keys):
        os.write(self.fd, keys)

    def wait(self, seconds=LONG):
        """The exit status as a shell has it; None: still running."""
        end = time.time() + seconds
        while time.time() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


def calls_in(path):
    out = subprocess.run([UFT, "stat", path], capture_output=True, text=True).stdout
    values = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    return int(values.get("calls", -1)), values.get("complete")


def status_line():
    t = Terminal(["sh", "-c", "exec %s record ./prog wait go1 >out1" % UFT])
    check("a status line appears", t.read(LONG, b"events, "), t.seen)
    check("it has rate, size and losses", t.read(LONG, b" lost") and b"/s, " in t.seen and b" MB, " in t.seen, t.seen)
    check("it rewrites itself", t.read_until(lambda: t.seen.count(b"\ruft: ") >= 2), t.seen)
    open("go1", "w").close()
    check("the program's status", t.wait() == 0, t.seen)
    check("a summary at the end", b"events in trace.uft" in t.seen, t.seen)


def status_shared():
    """The program writes to the same terminal: no line of ours between its own, unless asked for."""
    t = Terminal([UFT, "record", "./prog", "wait", "go1b"])
    t.read(LONG, b"ready")
    check("no status line on the program's terminal", not t.read(1, b"events, "), t.seen)
    open("go1b", "w").close()
    check("the program's status, too", t.wait() == 0, t.seen)
    check("only the summary", t.seen.count(b"uft: ") == 1 and b"\r\033" not in t.seen and b"events in trace.uft" in t.seen, t.seen)
    t = Terminal([UFT, "record", "--status", "./prog", "wait", "go1c"])
    check("--status shows it all the same", t.read(LONG, b"events, "), t.seen)
    open("go1c", "w").close()
    check("the program's status with --status", t.wait() == 0, t.seen)


def has_recorded():
    """Its first calls are in the file, where there may be none yet."""
    return calls_in("trace.uft")[0] > 100


def status_attached():
    """Its own standard output is not the process's: the line is shown, unless that writes to the same terminal."""
    for name, redirected in (("go1d", ">out1d 2>&1"), ("go1e", "")):
        t = Terminal(["sh", "-c", "./prog wait %s %s & %s attach -o %s.uft $!; wait" % (name, redirected, UFT, name)])
        sign = b" events, " if redirected else b"uft attach: recording 1 process, to "
        check("an attach says that it works, program's output %s" % (redirected or "here"), t.read(LONG, sign), t.seen)
        check("no line is on the program's terminal", redirected or b" events, " not in t.seen, t.seen)
        open(name, "w").close()
        check("it ends with the program", t.wait() == 0, t.seen)


def interrupt_once():
    t = Terminal([UFT, "record", "./prog", "wait", "never"])
    t.read(LONG, b"ready")
    check("it records", t.read_until(has_recorded))
    t.type(b"\x03")
    check("Ctrl-C ends the program as it does a plain one", t.wait() == 130, t.seen)
    calls, complete = calls_in("trace.uft")
    check("what was recorded is saved", calls > 100 and complete == "yes", str((calls, complete)))


class Job(Terminal):
    """A command under a shell that stays: when the first process of a terminal ends, the kernel hangs up on all."""

    def __init__(self, command):
        super().__init__(["sh", "-c", "trap : INT; %s; echo status=$?; read end" % command])

    def child(self):
        with open("/proc/%d/task/%d/children" % (self.pid, self.pid)) as f:
            return int(f.read().split()[0])

    def end(self):
        self.type(b"\n")
        self.wait()


def goes_on(name):
    open(name, "w").close()
    end = time.time() + LONG
    while not os.path.exists(name + ".done") and time.time() < end:
        time.sleep(0.05)
    return os.path.exists(name + ".done")


def interrupt_ignored():
    """The program ignores SIGINT: the first Ctrl-C changes nothing, the second leaves it alone."""
    t = Job("%s record sh -c 'trap \"\" INT; exec ./prog wait go2'" % UFT)
    t.read(LONG, b"ready")
    check("it records what ignores SIGINT", t.read_until(has_recorded))
    t.type(b"\x03")
    check("uft waits for the program", not t.read(0.7, b"status="), t.seen)
    check("uft has taken the first", t.read_until(lambda: not pends(t.child(), signal.SIGINT)))
    t.type(b"\x03")
    check("the second Ctrl-C ends the recording", t.read(LONG, b"status=130"), t.seen)
    calls, complete = calls_in("trace.uft")
    check("it is saved", calls > 100 and complete == "yes", str((calls, complete)))
    check("the program goes on without us", goes_on("go2"))
    t.end()


def interrupt_by_kill():
    """kill -INT reaches only us: the program goes on."""
    t = Job("%s record -q ./prog wait go3" % UFT)
    t.read(LONG, b"ready")
    os.kill(t.child(), signal.SIGINT)
    check("kill -INT ends the recording", t.read(LONG, b"status=130"), t.seen)
    check("the program goes on", goes_on("go3"))
    t.end()


def job_control():
    """Ctrl-Z stops uft and the program as one job, fg goes on with both."""
    t = Terminal(["bash", "--norc", "-i"], {"PS1": "$ "})
    t.read(LONG, b"$ ")
    t.type(("%s record -q ./prog wait go4\n" % UFT).encode())
    t.read(LONG, b"ready\r")
    t.type(b"\x1a")
    check("Ctrl-Z stops the job", t.read(LONG, b"Stopped"), t.seen)
    open("go4", "w").close()
    time.sleep(0.5)
    check("the program is stopped, too", not os.path.exists("go4.done"))
    t.seen = b""
    t.type(b"fg; echo status=$?\n")
    check("fg goes on with both", t.read(LONG, b"status=0"), t.seen)
    check("the program came to its end", os.path.exists("go4.done"))
    t.type(b"exit\n")
    t.wait()


def pager_and_colour():
    subprocess.run([UFT, "record", "-q", "./prog", "calls", "5"], check=True)
    t = Terminal([UFT, "report"], {"PAGER": "sed s/^/paged:/"})
    t.wait()
    check("the report goes through $PAGER", b"paged:# tracer: function_graph" in t.seen, t.seen)
    t = Terminal([UFT, "report", "--no-pager"], {"PAGER": "sed s/^/paged:/"})
    t.wait()
    check("--no-pager", b"paged:" not in t.seen and b"# tracer" in t.seen, t.seen)
    check("colour on a terminal", b"\x1b[" in t.seen, t.seen)
    t = Terminal([UFT, "report", "--no-pager"], {"NO_COLOR": "1"})
    t.wait()
    check("NO_COLOR", b"\x1b[" not in t.seen and b"# tracer" in t.seen, t.seen)
    out = subprocess.run([UFT, "report"], capture_output=True).stdout
    check("nothing but data on a pipe", b"\x1b[" not in out and out.startswith(b"# tracer"), out[:200])
    out = subprocess.run([UFT, "report", "--color=always"], capture_output=True).stdout
    check("--color=always", b"\x1b[" in out, out[:200])


def progress():
    """A report whose text goes elsewhere says on the terminal how far it is, and takes it back; other programs' terminals are left alone."""
    subprocess.run([UFT, "record", "-q", "./prog", "calls", "20000"], check=True)
    # The reader lets it wait, so that it takes long on any machine.
    t = Terminal(["sh", "-c", "%s report | { until [ -e shown ]; do sleep 0.1; done; wc -l; }" % UFT])
    check("progress is shown", t.read(LONG, b"\ruft report: "), t.seen)
    check("in percent", t.read(LONG, b" %"), t.seen)
    open("shown", "w").close()
    t.wait()
    lines = subprocess.run([UFT, "report"], capture_output=True).stdout.count(b"\n")
    check("it is taken back, and not in the text", t.seen.split(b"%\r\x1b[K")[-1].strip() == b"%d" % lines, t.seen)
    t = Terminal(["sh", "-c", "%s report 2>err.txt | { sleep 2; wc -l; }; cat err.txt" % UFT])
    t.wait()
    check("none where stderr is a file", b"%" not in t.seen and t.seen.strip() == b"%d" % lines, t.seen)
    t = Terminal([UFT, "report", "--no-pager"])
    t.wait()
    check("none where the text itself is on the terminal", b"uft report:" not in t.seen, t.seen[-200:])


def stop_when(t, fact):
    """Stops the terminal's process once that is so. False: it had ended by then."""
    while not fact(t):
        t.read(0.001)
        if os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
    os.kill(t.pid, signal.SIGSTOP)
    return os.waitid(os.P_PID, t.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT).si_code == os.CLD_STOPPED


def go_on(t):
    os.kill(t.pid, signal.SIGCONT)


def pends(pid, sig):
    with open("/proc/%d/status" % pid) as f:
        pending = [int(line.split()[1], 16) for line in f if line.startswith("ShdPnd")]
    return pending[0] >> (sig - 1) & 1


def await_pending(t, sig):
    end = time.time() + LONG
    while not pends(t.pid, sig) and time.time() < end:
        t.read(0.01)
    check("signal %d comes" % sig, time.time() < end)


def until_stopped(argv, fact, before=lambda: None):
    """The command, stopped at that moment; it may be so quick that it has to be tried again."""
    for _ in range(100):
        before()
        t = Terminal(argv)
        if stop_when(t, fact):
            return t
        t.wait()
    check("%s can be stopped in the middle" % " ".join(argv[1:]), False)
    return None


def has_open(pid, path):
    fds = "/proc/%d/fd" % pid
    try:
        return path in [os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)]
    except OSError:
        return False


def end_by_key(t):
    """Ctrl-C in the middle of what is stopped."""
    t.type(b"\x03")
    await_pending(t, signal.SIGINT)
    go_on(t)
    return t.wait()


def export_ended():
    """Ctrl-C ends an export at once: nothing that is not complete remains, and the recording can be exported again."""
    subprocess.run([UFT, "record", "-q", "-o", "large.uft", "./prog", "calls", "1000000"], check=True)
    with open("large.uft", "rb") as f:
        recording = f.read()
    command = [UFT, "export", "-o", "x.dat", "large.uft"]
    there = lambda t=None: os.path.exists("x.dat")
    remove = lambda: there() and os.unlink("x.dat")
    t = until_stopped(command, there, remove)
    if t:
        await_pending(t, signal.SIGALRM)		# a second has passed
        go_on(t)
        check("an export says how far it is", t.read(LONG, b"\ruft export: ") and t.read(LONG, b" of %d MB" % -(-len(recording) // 10**6)), t.seen)
        t.wait()
    t = until_stopped(command, there, remove)
    if t:
        check("Ctrl-C ends an export, by SIGINT", end_by_key(t) == -signal.SIGINT, t.seen)
        check("what is not complete is removed", not there())

    def older():
        with open("x.dat", "wb") as f:
            f.write(b"older")

    def is_older():
        with open("x.dat", "rb") as f:
            return f.read() == b"older"

    t = until_stopped(command, lambda t: has_open(t.pid, os.path.abspath("x.dat")), older)
    if t:
        is_kept = is_older()
        check("Ctrl-C ends it when there is an older file, too", end_by_key(t) == -signal.SIGINT, t.seen)
        check("an older file stays until it is overwritten", is_older() if is_kept else not there())
    os.symlink("x.dat", "link.dat")
    t = until_stopped([UFT, "export", "-o", "link.dat", "large.uft"], lambda t: has_open(t.pid, os.path.abspath("x.dat")), older)
    if t:
        with open("x.dat", "a") as f:
            f.write("begun")		# as after the moment that it begins to be overwritten, which is short
        check("Ctrl-C ends it when the output is a link", end_by_key(t) == -signal.SIGINT, t.seen)
        check("a link is not removed", os.path.islink("link.dat"))
        check("the file that it leads to is emptied", os.path.getsize("x.dat") == 0, str(os.path.getsize("x.dat")))
    with open("large.uft", "rb") as f:
        check("the recording is as it was", f.read() == recording)
    os.mkfifo("fifo.dat")
    t = Terminal([UFT, "export", "-o", "fifo.dat", "large.uft"])
    t.read(0.2)
    while os.readlink("/proc/%d/exe" % t.pid) != os.path.realpath(UFT):
        t.read(0.01)
    t.type(b"\x03")
    check("so while nobody reads what it writes", t.wait() == -signal.SIGINT, t.seen)
    check("a pipe is not removed", os.path.exists("fifo.dat"))


def pack_ended():
    """A recording that is packed in its place is as it was until it is packed, whenever Ctrl-C comes, and nothing stays beside it."""
    subprocess.run([UFT, "record", "-q", "--no-pack", "-o", "whole.uft", "./prog", "calls", "1000000"], check=True)
    with open("whole.uft", "rb") as f:
        recording = f.read()
    command = [UFT, "pack", "place.uft"]

    def beside():
        return [name for name in os.listdir(".") if name.startswith("place.uft.")]

    def has_begun(t):
        try:
            return any(os.path.getsize(name) for name in beside())
        except OSError:			# it has its name now
            return False

    t = until_stopped(command, has_begun, lambda: shutil.copy("whole.uft", "place.uft"))
    if t:
        await_pending(t, signal.SIGALRM)		# a second has passed
        go_on(t)
        check("uft pack says how far it is", t.read(LONG, b"\ruft pack: ") and t.read(LONG, b" of %d MB" % -(-len(recording) // 10**6)), t.seen)
        check("it ends, and its last line is the result", t.wait() == 0 and re.search(rb"\r\x1b\[Kuft pack: [0-9.]+ MB are [0-9.]+ MB now\r\n$", t.seen), t.seen)
        check("the result is in the recording's place", os.path.getsize("place.uft") < len(recording) and not beside(), str(beside()))
    t = until_stopped(command, has_begun, lambda: shutil.copy("whole.uft", "place.uft"))
    if t:
        check("Ctrl-C ends uft pack, by SIGINT", end_by_key(t) == -signal.SIGINT, t.seen)
        with open("place.uft", "rb") as f:
            check("the recording that was to be packed is as it was", f.read() == recording)
        check("no file stays beside it", not beside(), str(beside()))


def record_export_ended():
    """The same at the end of uft record -o FILE.dat: the recording stays."""
    there = lambda t=None: os.path.exists("y.dat")

    def clear():
        for name in ("y.dat", "y.dat.uft"):
            if os.path.exists(name):
                os.unlink(name)

    t = until_stopped([UFT, "record", "-b", "128M", "-o", "y.dat", "./prog", "calls", "1000000"], there, clear)
    if not t:
        return
    check("Ctrl-C ends the export of record, by SIGINT", end_by_key(t) == -signal.SIGINT, t.seen)
    check("it says where the recording is", b"uft record: y.dat was not written to its end; the recording is in y.dat.uft" in t.seen, t.seen)
    calls, complete = calls_in("y.dat.uft")
    check("that has all", calls >= 2000000 and complete == "yes" and not there(), str((calls, complete)))


def catches_alarm(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            caught = [line.split()[1] for line in f if line.startswith("SigCgt:")]
    except OSError:
        return False
    return bool(caught) and bool(int(caught[0], 16) >> (signal.SIGALRM - 1) & 1)


def table_progress():
    """A table comes when all was read; until then a terminal, which is where it goes, shows how far that is."""
    subprocess.run([UFT, "record", "-q", "-b", "64M", "-o", "table.uft", "./prog", "calls", "3000000"], check=True)
    t = Terminal([UFT, "report", "--profile", "-i", "table.uft"], {"PAGER": "sed s/^/paged:/"})
    while not catches_alarm(t.pid) and b"paged:" not in t.seen:	# then the timer runs, which we need not wait for
        t.read(0.001)
    os.kill(t.pid, signal.SIGALRM)
    check("the table is read", t.wait() == 0, t.seen)
    check("progress comes before it", re.search(rb"uft report: +[0-9]+ %.*paged:", t.seen, re.S) is not None, t.seen)


def broken_pipe():
    subprocess.run([UFT, "record", "-q", "./prog", "calls", "100000"], check=True)
    done = subprocess.run("%s report | head -n 1" % UFT, shell=True, capture_output=True)
    check("a reader that leaves is no error", done.stderr == b"" and done.stdout.startswith(b"# tracer"), done.stderr)


def help_width():
    """Help fits the terminal, and is 100 columns where there is none or a wider one."""
    widest = {}
    for columns in (80, 200):
        t = Terminal(["sh", "-c", "stty cols %d; exec %s report --help" % (columns, UFT)])
        check("help ends", t.wait() == 0, t.seen)
        widest[columns] = max(len(line) for line in t.seen.decode().splitlines())
    check("help fits 80 columns", 60 < widest[80] <= 80, repr(widest).encode())
    check("and has at most 100", 80 < widest[200] <= 100, repr(widest).encode())
    t = Terminal(["sh", "-c", "stty cols 80; exec %s --help" % UFT])
    check("the list of commands fits as well", t.wait() == 0 and max(len(line) for line in t.seen.decode().splitlines()) <= 80, t.seen)


def main():
    tmp = tempfile.mkdtemp(prefix="uft-test.")
    os.chdir(tmp)
    shutil.copy(os.path.join(TOP, "tests/func/cli/prog.c"), "prog.c")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-fpatchable-function-entry=5", "-o", "prog", "prog.c"], check=True)
    try:
        for case in (status_line, status_shared, status_attached, table_progress, interrupt_once, interrupt_ignored, interrupt_by_kill, job_control, pager_and_colour,
                     progress, export_ended, pack_ended, record_export_ended, broken_pipe, help_width):
            case()
    finally:
        os.chdir("/")
        shutil.rmtree(tmp, ignore_errors=True)
    print("%d checks, %d failed" % (checks, failures))
    sys.exit(1 if failures else 0)


main()
