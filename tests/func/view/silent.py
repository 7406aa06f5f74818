#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent.py PORT MODE - connections to a server that never ask: says `ready`, keeps them until its input ends, and says how many were ended

MODE: silent; slow: a byte of a request each second; stranger: silent, as another user (root only).
"""
import encodings.idna  # noqa: F401 - connecting needs it, and another user may not be able to load it
import os
import select
import socket
import sys

port, mode = int(sys.argv[1]), sys.argv[2]
if mode == "stranger":
    os.setgid(65534)
    os.setuid(65534)
there = []
for _ in range(200):
    s = socket.create_connection(("127.0.0.1", port))
    s.setblocking(False)
    there.append(s)
print("ready", flush=True)
ended, rest = set(), b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + 10000 * b"x"
while True:
    readable = select.select([sys.stdin] + [s for s in there if s not in ended], [], [], 1)[0]
    for s in readable:
        if s is sys.stdin:
            print("ended", len(ended))
            sys.exit()
        try:
            if not s.recv(1):
                ended.add(s)
        except OSError:
            ended.add(s)
    if mode == "slow":
        for s in there:
            try:
                if s not in ended:
                    s.send(rest[:1])
            except OSError:
                ended.add(s)
        rest = rest[1:]
