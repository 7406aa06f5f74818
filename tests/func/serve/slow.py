#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slow.py SOCKET N MODE - N clients, a byte each half second; says `ready`, and what each was answered when all are ended

MODE: request: that slow from the begin; text: in a text that they write
"""
import select
import socket
import struct
import sys
import time

path, n, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
request = struct.pack("4I", 0x31746675, 3, 0, 13) + b"trace_marker\0"
there, answers = [], []
for _ in range(n):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    if mode == "text":
        s.sendall(request + struct.pack("i", 60000))
        s.recv(4)
    there.append(s)
print("ready", flush=True)
rest, sent = request if mode == "request" else 60000 * b"x", 0
while there:
    for s in list(there):
        try:
            if select.select([s], [], [], 0)[0]:
                there.remove(s)
                answer = s.recv(4)
                answers.append(struct.unpack("i", answer)[0] if len(answer) == 4 else "none")
            else:
                s.send(rest[sent:sent + 1])
        except OSError as e:
            if s not in there:
                answers.append(e.strerror)
    sent += 1
    time.sleep(0.5)
print("answers", *sorted(set(answers), key=str))
