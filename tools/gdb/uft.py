# SPDX-License-Identifier: MIT
"""uft.py - gdb shows the real callers in a program that uft traces

    (gdb) source /usr/share/uft/gdb/uft.py

While a call is traced by function_graph or profile its return address waits on a shadow stack, and the stack holds
that of a stub, which gdb knows nothing about. In an unprepared function the first instructions run elsewhere,
and gdb knows nothing about that place. Here are an unwinder that goes from the stub to the true caller, and from moved
instructions to where they were, and a frame filter that leaves both out of `bt` (`bt -no-filters` shows them).

The shadow stacks are found by the session's file, which is mapped in the program: its header leads to the process's
slice, that to a struct uft_debug (include/uft/abi.h). They are read once each time the program stops.
"""
import os
import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

MAGIC = 0x31414E4552544655
VERSION = 11
BOARD = 1 << 16		# UFT_BOARD_BYTES
SLICES = 64		# of a family, at most
CALLEE_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
NAMES = {3: "rbx", 6: "rbp", 7: "rsp", 12: "r12", 13: "r13", 14: "r14", 15: "r15"}      # by DWARF's numbers
RIP = 16
# struct uft_arena: magic, version, ncpus, nexch, ring_bytes, sub_bytes, nslices, slice_offset, slice_bytes
ARENA = struct.Struct("<Q6IQQ")
# struct uft_slice: state, pid, ..., debug
SLICE = struct.Struct("<II40xQ")
DEBUG = struct.Struct("<8I5Q8I")
# struct uft_code's slot (runtime/patch/bytes/unprepared.c): code, address of the site, jump, call of the handler, its thunk, map
AUX, CODE_ADDR, CODE_THUNK, CODE_MAP = 128, 80, 106, 120
STUB, CALL, THUNK = 16, 5, 16
CHUNK = 1 << 16


def read(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def word(address):
    return struct.unpack("<Q", read(address, 8))[0]


def arenas(pid):
    """Addresses at which a session's board and a family of its slices are mapped from their start."""
    with open("/proc/%d/maps" % pid, errors="replace") as maps:
        lines = [l.split(None, 5) for l in maps]
    found = [l for l in lines if len(l) == 6 and re.search(r"/uft[^/]*/session\.", l[5]) and int(l[2], 16) == 0]
    at = {re.sub(r" \(deleted\)$", "", l[5].strip()): int(l[0].split("-")[0], 16) for l in found}
    return [(at[name], at[family]) for name in at if name.endswith(".b")
            for family in at if re.fullmatch(re.escape(name[:-2]) + r"\.f\d+", family)]


def find_debug(pid):
    """The process's struct uft_debug as a tuple, or None."""
    for base, mail in arenas(pid):
        magic, version, _, _, _, _, _, offset, size = ARENA.unpack(read(base, ARENA.size))
        if magic != MAGIC or version != VERSION:
            continue
        for i in range(SLICES):
            try:
                _, owner, debug = SLICE.unpack(read(mail + offset - BOARD + i * size, SLICE.size))
            except gdb.MemoryError:
                break
            if owner == pid and debug:
                return DEBUG.unpack(read(debug, DEBUG.size))
    return None


class Shadow:
    """The hooked frames of one stop: by slot, the newest first."""

    def __init__(self):
        self.by_slot = {}
        self.rets = set()
        self.debug = self.made = self.tables = None
        pid = gdb.selected_inferior().pid
        if pid and os.path.exists("/proc/%d/maps" % pid):
            self.debug = find_debug(pid)
        if self.debug:
            self.load()
            self.made = Made(self.debug)
            self.tables = Tables(self.debug[11]) if self.debug[11] else None

    def load(self):
        _, size, slot, parent, ret, base, top, after, threads = self.debug[:9]
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
        """Entries of a frame that was left, a coroutine's: the table's hash is that of shadow/detached_frames.c."""
        _, size, e_slot, parent, ret = self.debug[:5]
        table, n = self.debug[9:11]
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

    def is_ours(self, pc):
        return pc in self.rets or (self.made and self.made.has(pc)) or (self.tables and self.tables.has(pc))

    def caller(self, pc, sp):
        """The frame above one that is in our code, as (pc, sp); None: it is not."""
        parent = self.parent(sp - 8, pc)
        if parent is not None:
            return parent, sp
        found = self.made.at(pc, sp) if self.made else None
        if found is None:
            return None
        place, offset = found
        # gdb takes one off a caller's pc before it looks anything up.
        return self.returns(sp + offset) if place is None else (place + 1, sp)

    def returns(self, at):
        pc = word(at)
        parent = self.parent(at, pc)
        return (pc if parent is None else parent), at + 8

    def search(self, slot, pc):
        parent = None
        # A tail call's slot has several entries, each the parent of the next.
        for true, ret in self.by_slot.get(slot, ()):
            if ret == (pc if parent is None else parent):
                parent = true
        return parent


class Made:
    """The code that was made for each object: runtime/patch/bytes/frames.c says what a pc in it stands for."""

    def __init__(self, debug):
        self.parts = []
        objects, after, stubs, aux, cells, thunks, n, leave, region = debug[12:]
        at = word(objects)
        while at:
            thunk = word(at + thunks)
            self.parts.append((word(at + region), word(at + stubs), word(at + aux), word(at + cells), thunk, thunk + n * THUNK,
                               word(at + thunks + 8 * leave)))
            at = word(at + after)

    def has(self, pc):
        return any(p[0] <= pc < p[3] for p in self.parts)

    def at(self, pc, sp):
        """(where pc is in the program, None), or (None, offset of the return address from sp)."""
        for _, stubs, aux, cells, thunk, end, leave in self.parts:
            if aux <= pc < cells:
                return self.in_aux(pc, (pc - aux) % AUX)
            if stubs <= pc < aux:
                return self.in_stub(pc, (pc - stubs) % STUB, sp)
            if leave <= pc < leave + THUNK:
                return None, -8
            if thunk <= pc < end:
                return None, 8 if (pc - thunk) % THUNK else 0
        return None

    def in_aux(self, pc, at):
        slot = pc - at
        site = word(slot + CODE_ADDR)
        if at >= CODE_THUNK:
            return None, 8 if at > CODE_THUNK else 0
        if at >= CODE_ADDR:
            return site, None
        *places, back, pushed = read(slot + CODE_MAP, 6)
        if pushed and at >= pushed:
            return None, 0
        if back and at >= back:
            return target(slot + back), None
        return site + max((i + 1 for i, p in enumerate(places) if p and p <= at), default=0), None

    def in_stub(self, pc, at, sp):
        # Behind the call of the handler: to be returned to, or about to call the code.
        if at == CALL and word(sp - 8) != pc:
            return None, -8
        if at > CALL:
            return None
        slot = target(pc - at + CALL)
        return word(slot + CODE_ADDR) if any(p[2] <= slot < p[3] for p in self.parts) else slot - 1, None


class Tables:
    """The runtime's own functions: their unwind tables, of which assembler and compiler use but a part of DWARF."""

    def __init__(self, header):
        self.at = header
        self.n = struct.unpack("<I", read(header + 8, 4))[0]
        self.rows = [(header + a, header + b) for a, b in struct.iter_unpack("<ii", read(header + 12, 8 * self.n))]

    def has(self, pc):
        return self.rows and self.rows[0][0] <= pc < self.rows[-1][0]

    def rules(self, pc):
        """{"cfa": (register, offset), register: offset from the CFA}, by DWARF's numbers; None: no function of ours."""
        fde = max((r for r in self.rows if r[0] <= pc), default=None)
        if fde is None:
            return None
        start, at = fde
        size, cie = struct.unpack("<II", read(at, 8))
        length = struct.unpack("<I", read(at + 12, 4))[0]
        if pc >= start + length:
            return None
        cie = at + 4 - cie
        state = {}
        # Behind version, "zR", units, return register and encoding; behind the FDE's extent and length of nothing.
        self.run(read(cie + 17, struct.unpack("<I", read(cie, 4))[0] - 13), 0, 1, state, {})
        self.run(read(at + 17, size - 13), start, pc, state, dict(state))
        return state

    @staticmethod
    def run(code, at, pc, state, initial):
        kept, i = [], 0

        def uleb():
            nonlocal i
            n = shift = 0
            while True:
                byte = code[i]
                i += 1
                n |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return n

        while i < len(code):
            op, low = code[i] & 0xC0, code[i] & 0x3F
            i += 1
            if op == 0x40 or (not op and low in (2, 3, 4)):
                n = 0 if op else 1 << low - 2
                at += low if op else int.from_bytes(code[i:i + n], "little")
                i += n
                if at > pc:
                    return
            elif op == 0x80:
                state[low] = -8 * uleb()
            elif op == 0xC0:
                state.pop(low, None)
                state.update({low: initial[low]} if low in initial else {})
            elif low == 0x0C:
                state["cfa"] = (uleb(), uleb())
            elif low == 0x0D:
                state["cfa"] = (uleb(), state["cfa"][1])
            elif low == 0x0E:
                state["cfa"] = (state["cfa"][0], uleb())
            elif low == 0x07:
                state.pop(uleb(), None)
            elif low == 0x0A:
                kept.append(dict(state))
            elif low == 0x0B:
                state.clear()
                state.update(kept.pop())
            elif low:
                raise ValueError("operation %x" % low)


def target(jump):
    """Where the jump or call of five bytes leads."""
    return jump + 5 + struct.unpack("<i", read(jump + 1, 4))[0]


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
        def register(name):
            return int(pending.read_register(name)) & (1 << 64) - 1

        try:
            frame = self.unwind(current(), register)
        except (gdb.error, OSError, struct.error, LookupError, ValueError):
            return None
        if frame is None:
            return None
        info = pending.create_unwind_info(FrameId(pending.read_register("rsp"), pending.read_register("rip")))
        for name, value in frame.items():
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info

    @staticmethod
    def unwind(now, register):
        pc = register("rip")
        frame = {name: register(name) for name in CALLEE_SAVED}
        caller = now.caller(pc, register("rsp"))
        rules = now.tables.rules(pc) if caller is None and now.tables else None
        if rules and RIP in rules:
            base, offset = rules["cfa"]
            cfa = register(NAMES[base]) + offset
            frame.update({NAMES[n]: word(cfa + at) for n, at in rules.items() if NAMES.get(n) in CALLEE_SAVED})
            caller = now.returns(cfa + rules[RIP])
        return dict(frame, rip=caller[0], rsp=caller[1]) if caller else None


class UftFilter:
    """Leaves our stubs out."""

    name = "uft"
    priority = 100
    enabled = True

    def filter(self, frames):
        return (f for f in frames if not current().is_ours(f.inferior_frame().pc()))


register_unwinder(None, UftUnwinder(), replace=True)
gdb.frame_filters["uft"] = UftFilter()
for event in ("stop", "cont", "memory_changed", "exited", "new_objfile"):
    getattr(gdb.events, event).connect(forget)
gdb.invalidate_cached_frames()
