# SPDX-License-Identifier: MIT
"""uft.py - gdb shows the real callers in a program that uft traces

    (gdb) source /usr/share/uft/gdb/uft.py

While a call is traced by function_graph or profile its return address waits on a shadow stack, and the stack holds
that of a stub, which gdb knows nothing about. Here are an unwinder that goes from the stub to the true caller, and a
frame filter that leaves the stubs out of `bt` (`bt -no-filters` shows them).

The shadow stacks are found by the session's file, which is mapped in the program: its header leads to the process's
slice, that to a struct uft_debug (include/uft/abi.h). They are read once each time the program stops.
"""
import os
import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

MAGIC = 0x31414E4552544655
VERSION = 2
CALLEE_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
# struct uft_arena: magic, version, ncpus, nexch, ring_bytes, sub_bytes, nslices, slice_offset, slice_bytes
ARENA = struct.Struct("<Q6IQQ")
# struct uft_slice: state, pid, ..., debug
SLICE = struct.Struct("<II40xQ")
DEBUG = struct.Struct("<8IQQQ")
CHUNK = 1 << 16


def read(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def word(address):
    return struct.unpack("<Q", read(address, 8))[0]


def arenas(pid):
    """Addresses at which a session's file is mapped from its start, the newest mapping first."""
    with open("/proc/%d/maps" % pid, errors="replace") as maps:
        lines = [l.split(None, 5) for l in maps]
    found = [l for l in lines if len(l) == 6 and re.search(r"/uft[^/]*/session\.", l[5]) and int(l[2], 16) == 0]
    return [int(l[0].split("-")[0], 16) for l in found]


def find_debug(pid):
    """The process's struct uft_debug as a tuple, or None."""
    for base in arenas(pid):
        magic, version, _, _, _, _, nslices, offset, size = ARENA.unpack(read(base, ARENA.size))
        if magic != MAGIC or version != VERSION:
            continue
        for i in range(nslices):
            _, owner, debug = SLICE.unpack(read(base + offset + i * size, SLICE.size))
            if owner == pid and debug:
                return DEBUG.unpack(read(debug, DEBUG.size))
    return None


class Shadow:
    """The hooked frames of one stop: by slot, the newest first."""

    def __init__(self):
        self.by_slot = {}
        self.rets = set()
        self.debug = None
        pid = gdb.selected_inferior().pid
        if pid and os.path.exists("/proc/%d/maps" % pid):
            self.debug = find_debug(pid)
        if self.debug:
            self.load()

    def load(self):
        _, size, slot, parent, ret, base, top, after, threads, _, _ = self.debug
        thread = word(threads)
        while thread:
            first, end = word(thread + base), word(thread + top)
            for at in range(first, end, CHUNK):
                block = read(at, min(CHUNK, end - at))
                for i in range(0, len(block), size):
                    self.add(*(struct.unpack_from("<Q", block, i + f)[0] for f in (slot, parent, ret)))
            thread = word(thread + after)

    def add(self, slot, parent, ret):
        if slot > 1:
            self.by_slot.setdefault(slot, []).insert(0, (parent, ret))
            self.rets.add(ret)

    def set_aside(self, slot):
        """Entries of a frame that was left, a coroutine's: the table's hash is that of runtime/trace/aside.c."""
        _, size, e_slot, parent, ret, _, _, _, _, table, n = self.debug
        bits = n.bit_length() - 1 - 6
        page = ((slot >> 9) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> (64 - bits)
        at = page << 6 | slot >> 3 & 63
        for _ in range(4096):
            entry = read(table + at % n * size, size)
            seen = struct.unpack_from("<Q", entry, e_slot)[0]
            if seen == 0:
                break
            if seen == slot:
                self.add(slot, *(struct.unpack_from("<Q", entry, f)[0] for f in (parent, ret)))
            at += 1

    def parent(self, slot, pc):
        """Where the frame whose return address was at @slot really returns to, when @pc is what stands there."""
        found = self.search(slot, pc)
        if found is None and slot not in self.by_slot and self.debug:
            self.set_aside(slot)
            found = self.search(slot, pc)
        return found

    def search(self, slot, pc):
        parent = None
        # A tail call's slot has several entries, each the parent of the next.
        for true, ret in self.by_slot.get(slot, ()):
            if ret == (pc if parent is None else parent):
                parent = true
        return parent


shadow = None


def forget(*_):
    global shadow
    shadow = None


def current():
    global shadow
    if shadow is None:
        shadow = Shadow()
    return shadow


class FrameId:  # gdb has one from 14 on
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class UftUnwinder(Unwinder):
    def __init__(self):
        super().__init__("uft")

    def __call__(self, pending):
        try:
            pc = int(pending.read_register("rip")) & (1 << 64) - 1
            sp = int(pending.read_register("rsp")) & (1 << 64) - 1
            parent = current().parent(sp - 8, pc)
        except (gdb.error, OSError, struct.error):
            return None
        if parent is None:
            return None
        info = pending.create_unwind_info(FrameId(pending.read_register("rsp"), pending.read_register("rip")))
        pointer = pending.read_register("rip").type
        info.add_saved_register("rip", gdb.Value(parent).cast(pointer))
        info.add_saved_register("rsp", pending.read_register("rsp"))
        for name in CALLEE_SAVED:
            info.add_saved_register(name, pending.read_register(name))
        return info


class UftFilter:
    """Leaves our stubs out."""

    name = "uft"
    priority = 100
    enabled = True

    def filter(self, frames):
        return (f for f in frames if f.inferior_frame().pc() not in current().rets)


register_unwinder(None, UftUnwinder(), replace=True)
gdb.frame_filters["uft"] = UftFilter()
for event in ("stop", "cont", "memory_changed", "exited", "new_objfile"):
    getattr(gdb.events, event).connect(forget)
gdb.invalidate_cached_frames()
