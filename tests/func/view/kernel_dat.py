#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel_dat.py OUT [TASKS | function | graph | kvm | waits | host | guest | steps] - writes a trace.dat (version 6, clock mono) as trace-cmd makes it of a kernel

Two CPUs. Task 100 runs from 0, is blocked from 10 to 30 ms, waits for CPU 0 until 34 ms, runs to 40 ms, is preempted until 50 ms and ends at
60 ms. Task 200 has CPU 0 from 10 to 34 ms. CPU 1 is idle, but for task 300 from 20 to 25 ms. A timer of a function comes at 5 ms.
With TASKS: so many tasks more, which have an event each on CPU 1.
With kvm: task 100 runs a guest from 6 to 8, from 9 and from 35 to 36 ms, and CPU 1 lost 7 events before 30 ms.
With waits: task 100 does so within calls: schedule() from 6 to 55 ms calls timer_ticks() from 9 to 36 ms, and schedule() from 56 ms
on does not return: it blocks at 57 ms. The last event is at 60 ms.
With guest or steps: it is the file of a guest, with what its clock has to be corrected by (SHIFT); with host: the host's file of that session.
With function or graph: CPU 1 has calls of task 300 instead, each with other flags (FLAGS).
"""
import struct
import sys

COMMON = """	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

"""


def form(name, number, fields, text):
    lines = "".join(f"\tfield:{f};\toffset:{at};\tsize:{size};\tsigned:{signed};\n" for f, at, size, signed in fields)
    return f"name: {name}\nID: {number}\nformat:\n{COMMON}{lines}\nprint fmt: {text}\n".encode()


SWITCH = form("sched_switch", 301, [
    ("char prev_comm[16]", 8, 16, 0), ("pid_t prev_pid", 24, 4, 1), ("int prev_prio", 28, 4, 1), ("long prev_state", 32, 8, 1),
    ("char next_comm[16]", 40, 16, 0), ("pid_t next_pid", 56, 4, 1), ("int next_prio", 60, 4, 1)],
    '"prev_comm=%s prev_pid=%d prev_state=%ld ==> next_comm=%s next_pid=%d", REC->prev_comm, REC->prev_pid, REC->prev_state, '
    'REC->next_comm, REC->next_pid')
WAKEUP = form("sched_wakeup", 302, [
    ("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1), ("int target_cpu", 32, 4, 1)],
    '"comm=%s pid=%d", REC->comm, REC->pid')
TIMER = form("hrtimer_expire_entry", 303, [("void * hrtimer", 8, 8, 0), ("void * function", 16, 8, 0)],
             '"function=%ps at=%pS", REC->function, REC->function + 4')
FUNCTION = form("function", 1, [("unsigned long ip", 8, 8, 0), ("unsigned long parent_ip", 16, 8, 0)],
                '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip')
ENTRY = form("funcgraph_entry", 11, [("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1)], '"--> %ps (%d)", (void *)REC->func, REC->depth')
EXIT = form("funcgraph_exit", 10, [
    ("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1), ("unsigned int overrun", 20, 4, 0),
    ("unsigned long long calltime", 24, 8, 0), ("unsigned long long rettime", 32, 8, 0)],
    '"<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth')
GUEST = [form(name, number, [("unsigned int vcpu_id", 8, 4, 0), ("unsigned long rip", 16, 8, 0)], '"vcpu %u, rip 0x%lx", REC->vcpu_id, REC->rip')
         for name, number in (("kvm_entry", 304), ("kvm_exit", 305))]
# common_flags (irqs off, both needs to reschedule, interrupt, softirq) and common_preempt_count (preempt depth, migrate disable)
FLAGS = [(0, 0), (1, 0), (1, 1), (4 | 32, 2), (8, 0x10), (16, 1), (8 | 16 | 1, 3), (8 | 16 | 1, 3), (0, 0)]
NAMES = {0: "swapper", 100: "first", 200: "second", 300: "third"}
S, R_PREEMPTED, DEAD = 1, 0x100, 0x20
ORIGIN = 5_000_000_000


SESSION = 0x1122334455667788
# Flags (1: on the line through two samples), and of each CPU samples: time in ms, offset in ns, scaling, fraction
SHIFT = {"guest": (1, [[(0, 1_000_000_000, 1, 0), (60, 1_000_600_000, 1, 0)], [(10, 1_000_000_000, 1, 0)]]),
         "steps": (0, [[(30, 1_000_200_000, 2, 1), (0, 1_000_000_000, 1, 0), (100, 9_000_000_000, 1, 0)], []])}


def switch(ms, flags, prev, state, to):
    body = struct.pack("<16siiq16sii", NAMES[prev].encode(), prev, 120, state, NAMES[to].encode(), to, 120)
    return ms, struct.pack("<HBBi", 301, flags, 2, prev) + body


def wakeup(ms, by, pid):
    return ms, struct.pack("<HBBi", 302, 1, 3, by) + struct.pack("<16siii", NAMES[pid].encode(), pid, 120, 0)


def timer(ms, pid):
    return ms, struct.pack("<HBBi", 303, 0x8 | 1, 1, pid) + struct.pack("<QQ", 0xffff888012345678, 0xffffffff81000100)


def guest(ms, is_entry):
    return ms, struct.pack("<HBBiIIQ", 304 if is_entry else 305, 0, 0, 100, 0, 0, 0x1000)


def functions():
    return [(20 + i, struct.pack("<HBBiQQ", 1, flags, count, 300, 0xffffffff81000204, 0xffffffff81000100))
            for i, (flags, count) in enumerate(FLAGS)]


def entry(ms, how, func, depth, pid=300):
    return ms, struct.pack("<HBBiQi", 11, *how, pid, func, depth)


def leave(ms, how, func, depth, begun, pid=300):
    return ms, struct.pack("<HBBiQiIQQ", 10, *how, pid, func, depth, 0, ORIGIN + int(begun * 1e6), ORIGIN + int(ms * 1e6))


def graph():
    """schedule() calls timer_ticks() as often as there are flags; what returns has the flags of the one behind."""
    calls = [entry(20, FLAGS[1], 0xffffffff81000200, 0)]
    for i, how in enumerate(FLAGS):
        calls.append(entry(21 + i, how, 0xffffffff81000100, 1))
        if i == 2:      # an event between, so that this call takes two lines
            calls.append(wakeup(21 + i + 0.2, 300, 100))
        calls.append(leave(21 + i + 0.5, FLAGS[(i + 1) % len(FLAGS)], 0xffffffff81000100, 1, 21 + i))
    return calls + [leave(40, FLAGS[3], 0xffffffff81000200, 0, 20)]


def page(events, lost=0):
    """4096 bytes: the time of the first, how many bytes, and if some were lost before; each event has the distance from the one before."""
    at = ORIGIN + int(events[0][0] * 1e6) if events else ORIGIN
    data, last = b"", at
    for ms, record in events:
        now = ORIGIN + int(ms * 1e6)
        delta = now - last
        if delta >> 27:
            data += struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
            delta = 0
        record += bytes(-len(record) % 4)
        data += struct.pack("<I", len(record) // 4 | delta << 5) + record
        last = now
    assert len(data) <= 4080
    told = (1 << 31 | 1 << 30, struct.pack("<Q", lost)) if lost else (0, b"")
    return (struct.pack("<QQ", at, len(data) | told[0]) + data + told[1]).ljust(4096, b"\0")


def text64(data):
    return struct.pack("<Q", len(data)) + data


def option(number, data):
    return struct.pack("<HI", number, len(data)) + data


def shift(flags, samples):
    """The option TIME_SHIFT: fractions come last."""
    data = struct.pack("<QII", SESSION, flags, len(samples))
    for of in samples:
        data += struct.pack("<I", len(of)) + b"".join(struct.pack("<Q", ORIGIN + int(ms * 1e6)) for ms, *_ in of)
        data += b"".join(struct.pack("<q", offset) for _, offset, _, _ in of) + b"".join(struct.pack("<Q", scaling) for *_, scaling, _ in of)
    return option(12, data + b"".join(struct.pack("<Q", fraction) for of in samples for *_, fraction in of))


cpus = [[
    page([timer(5, 100), switch(10, 1, 100, S, 200), wakeup(30, 200, 100), switch(34, 0, 200, S, 100), switch(40, 4, 100, R_PREEMPTED, 200),
          switch(50, 0, 200, S, 100), switch(60, 0, 100, DEAD, 0)])], [
    page([wakeup(19, 0, 300), switch(20, 0, 0, 0, 300), switch(25, 0, 300, S, 0)])]]
what = sys.argv[2] if len(sys.argv) > 2 else "0"
if what == "kvm":
    cpus[0] = [page([timer(5, 100), guest(6, True), guest(8, False), guest(9, True), switch(10, 1, 100, S, 200), wakeup(30, 200, 100),
                     switch(34, 0, 200, S, 100), guest(35, True), guest(36, False), switch(40, 4, 100, R_PREEMPTED, 200)])]
    cpus[1].append(page([timer(30, 300)], lost=7))
if what == "waits":
    outer, inner = 0xffffffff81000200, 0xffffffff81000100
    cpus = [[page([entry(6, FLAGS[0], outer, 0, 100), entry(9, FLAGS[0], inner, 1, 100), switch(10, 1, 100, S, 200), wakeup(30, 200, 100),
                   switch(34, 0, 200, S, 100), leave(36, FLAGS[0], inner, 1, 9, 100), switch(40, 4, 100, R_PREEMPTED, 200),
                   switch(50, 0, 200, S, 100), leave(55, FLAGS[0], outer, 0, 6, 100), entry(56, FLAGS[0], outer, 0, 100),
                   switch(57, 0, 100, S, 0), timer(60, 0)])], [page([timer(5, 300)])]]
calls = {"function": functions, "graph": graph}.get(what)
if calls:
    cpus[1] = [page(calls())]
tasks = range(1000, 1000 + (int(what) if what.isdigit() else 0))
for i in range(0, len(tasks), 100):
    cpus[1].append(page([timer(26 + pid / 1000, pid) for pid in tasks[i:i + 100]]))
kallsyms = b"ffffffff81000000 T _text\nffffffff81000100 t timer_ticks\nffffffff81000200 T schedule\n"
head = b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", 4096)
head += b"header_page\0" + text64(b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                  b"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")
head += b"header_event\0" + text64(b"# compressed entry header\n")
formats = {"function": [FUNCTION], "graph": [ENTRY, EXIT], "waits": [ENTRY, EXIT]}.get(what, [])
head += struct.pack("<I", len(formats)) + b"".join(map(text64, formats)) + struct.pack("<I", 3 if what == "kvm" else 2)
head += b"sched\0" + struct.pack("<I", 2) + text64(SWITCH) + text64(WAKEUP)
head += b"timer\0" + struct.pack("<I", 1) + text64(TIMER)
if what == "kvm":
    head += b"kvm\0" + struct.pack("<I", 2) + b"".join(map(text64, GUEST))
head += struct.pack("<I", len(kallsyms)) + kallsyms + struct.pack("<I", 0)
head += text64(b"".join(f"{pid} {name}\n".encode() for pid, name in NAMES.items() if pid) + b"".join(f"{pid} task\n".encode() for pid in tasks))
head += struct.pack("<I", len(cpus))
head += b"options  \0" + option(4, b"local global [mono]\n\0") + option(5, b"Linux guest 6.12 x86_64\0" if what != "host" else b"Linux host 6.12 x86_64\0")
if what == "host":
    head += option(11, struct.pack("<Q", SESSION)) + option(13, b"guest\0" + struct.pack("<QIIIII", SESSION + 1, 2, 0, 100, 1, 200))
if what in SHIFT:
    head += option(11, struct.pack("<Q", SESSION + 1)) + shift(*SHIFT[what])
head += struct.pack("<H", 0)
head += b"flyrecord\0"
at = -(-(len(head) + 16 * len(cpus)) // 4096) * 4096
for pages in cpus:
    head += struct.pack("<QQ", at, 4096 * len(pages))
    at += 4096 * len(pages)
with open(sys.argv[1], "wb") as out:
    out.write(head + bytes(-len(head) % 4096) + b"".join(b"".join(pages) for pages in cpus))
