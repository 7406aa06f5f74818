#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile.py URL PID - malicious or broken clients of the server of uft view

Prints a line `ok WHAT` or `not ok WHAT: ...` for each thing that it tries; the server must answer its owner after each.
"""
import json
import os
import re
import resource
import socket
import struct
import sys
import time

url, pid = sys.argv[1], int(sys.argv[2])
port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", url).groups()
HOST = f"Host: 127.0.0.1:{port}\r\n"


def connect():
    s = socket.create_connection(("127.0.0.1", int(port)))
    s.settimeout(60)
    return s


def read_answer(f):
    """(status, body) of the next answer in a connection; status 0: it was closed."""
    line = f.readline()
    if not line:
        return 0, b""
    length = 0
    while (head := f.readline()) not in (b"\r\n", b""):
        key, _, value = head.partition(b":")
        if key.lower() == b"content-length":
            length = int(value)
    return int(line.split()[1]), f.read(length)


def raw(request):
    with connect() as s:
        try:
            s.sendall(request)
        except OSError:
            pass        # it answered, and closed, before it had read all
        try:
            return read_answer(s.makefile("rb"))
        except OSError:
            return 0, b""


def get(path, method="GET", more=""):
    return raw(f"{method} /{token}/{path} HTTP/1.1\r\n{HOST}Connection: close\r\n{more}\r\n".encode())


def done(path):
    """The answer when it is made."""
    for _ in range(1200):
        status, body = get(path)
        if status != 200 or json.loads(body).get("state") != "working":
            return status, body
        time.sleep(0.05)
    return 0, b"never done"


def resources():
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def settled(want):
    """Descriptors and threads, once they are no more than that; what was closed takes the server a moment."""
    for _ in range(1200):
        now = resources()
        if now[0] <= want[0] and now[1] <= want[1]:
            break
        time.sleep(0.05)
    return now


def tell(what, is_right, seen=""):
    status, body = get("api/files")
    is_right = is_right and status == 200 and b'"files"' in body
    print("ok" if is_right else "not ok", what if is_right else f"{what}: {seen!r:.300} (then {status})", flush=True)


duration = json.loads(done("api/info")[1])["duration"]
whole = f"from=0&to={duration}"
before = resources()

# ---- Without the token ----
seen = set()
for path in ("", "/", "/api/info", f"/{token}", f"/{token[:-1]}/api/info", f"/{token}0/api/info", f"/{token.upper() if token.upper() != token else 'x'}/api/info",
             f"//{token}/api/info", f"/./{token}/api/info", f"/x/../{token}/api/info", f"/%00{token}/api/info", f"/?{token}/", "/" + "a" * 30000,
             "/" + "/".join([".."] * 20) + "/etc/passwd"):
    seen.add(raw(f"GET {path or '*'} HTTP/1.1\r\n{HOST}\r\n".encode())[0])
tell("nothing is told without the token", seen <= {403, 400, 414, 413, 431, 0}, seen)
seen = {raw(f"GET /{token}/api/info HTTP/1.1\r\n{host}\r\n".encode())[0] for host in (
    "", "Host: \r\n", "Host: example.org\r\n", f"Host: example.org:{port}\r\n", "Host: 127.0.0.1\r\n", f"Host: 127.0.0.1:{int(port) ^ 1}\r\n",
    f"Host: 127.0.0.1:{port}.example.org\r\n", f"Host: x\r\n{HOST}", "Host: [::1]\r\n")}
tell("nor to another host", seen <= {403, 400}, seen)

# ---- With it: no file but the page's ----
seen = {}
for path in ("../etc/passwd", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "api/../../etc/passwd", "main.js/../index.html",
             "exported?number=../../etc/passwd", "exported?number=1", "exported?number=18446744073709551615&file=0", "exported?file=9", "api/info?file=../a.uft"):
    status, body = get(path)
    if b"root:" in body or status not in (400, 403, 404) and not path.startswith("api/info"):
        seen[path] = status
tell("no file that is not the page's", not seen, seen)

# ---- Numbers that are none, or too large ----
odd = ["-1", "18446744073709551615", "18446744073709551616", "9223372036854775807", "999999999999999999", "1e9", "0x7f", "", "%20", "1" * 500, "nan"]
seen = {}
for question, keys in {"tiles": ["from", "to", "width", "rows", "file", "packed"], "list": ["first", "count", "file"], "row_at": ["t"], "search": ["from", "back"],
                       "tree": ["from", "to", "tid"], "histogram": ["from", "to", "tid"], "plot": ["from", "to", "width", "tid"],
                       "diff": ["with", "file"], "export": ["from", "to", "tid"], "info": ["file", "shift"]}.items():
    for key in keys:
        for value in odd:
            right = {"from": "0", "to": str(duration), "width": "100", "rows": "0,c0", "text": "func_7", "func": "func_7", "format": "folded", "with": "1"}
            right[key] = value
            status, body = done(f"api/{question}?" + "&".join(f"{k}={v}" for k, v in right.items()))
            if status not in (200, 400, 404) or json.loads(body[4 + int.from_bytes(body[:4], "little"):] if body[:1] != b"{" else body)["state"] not in ("done", "failed"):
                seen[question, key, value] = status, body[:80]
tell("numbers that are none, or too large", not seen, seen)
seen = {}
formats = json.loads(get("api/files")[1])["formats"]
for form in formats + ["ctf", "", "..%2fx", "%00", "trace.dat%0a"]:
    for part in (whole, "from=0&to=1", f"from={duration}&to={duration + 1}", f"from={2 * duration}&to=999999999999999999", "from=5&to=5", "from=9&to=3"):
        status, body = done(f"api/export?format={form}&{part}")
        if status not in (200, 400):
            seen[form, part] = status, body
            continue
        answer = json.loads(body)
        if answer["state"] == "done" and len(get(f"exported?number={answer['export']}")[1]) != answer["bytes"]:
            seen[form, part] = answer
tell("exports of any range in any format", not seen, seen)

# ---- Heads ----
status, _ = get("api/info", more="X: " + "y" * (4 << 20) + "\r\n")
tell("a head of 4 MB", status in (0, 400, 413, 431, 500), status)
status, _ = get("api/info", more="".join(f"X{i}: y\r\n" for i in range(100000)))
tell("a hundred thousand lines of a head", status in (0, 200, 400, 413, 431, 500), status)
status, _ = get("api/list?" + "&".join(f"a{i}=1" for i in range(20000)))
tell("twenty thousand arguments", status in (0, 200, 400, 413, 414, 431, 500), status)
seen = {get("api/files", more=more)[0] for more in ("Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n",
                                                     "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "Upgrade: h2c\r\n", " folded: x\r\n", "\0: x\r\n")}
tell("bodies that do not come", seen <= {0, 200, 400, 413, 408}, seen)

# ---- Many at once ----
with connect() as s:
    s.sendall(b"".join(f"GET /{token}/api/row_at?t={i} HTTP/1.1\r\n{HOST}\r\n".encode() for i in range(300)))
    f = s.makefile("rb")
    answers = [read_answer(f) for _ in range(300)]
rows = [json.loads(body)["row"] for status, body in answers if status == 200]
tell("three hundred questions in one connection, answered in turn", len(rows) == 300 and rows == sorted(rows), len(rows))
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard) if hard > 0 else 2048, hard))
idle, refused = [], 0
for _ in range(1000):
    try:
        s = connect()
        s.sendall(f"GET /{token}/api/files HTTP/1.1\r\n{HOST}".encode() if len(idle) % 2 else b"")
        idle.append(s)
    except OSError:
        refused += 1
tell("a thousand connections that ask for nothing", True)
most = resources()[0]
for s in idle:
    s.close()
tell("they take a bounded number of descriptors", most <= before[0] + 200, (before, most))
rest = f"GET /{token}/api/list?first=0&count=2000 HTTP/1.1\r\n{HOST}\r\n".encode()
for i in range(300):    # an answer of half a MB, of which hardly any is read
    s = connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.sendall(rest)
    s.recv(1 + i % 4000)
    if i % 2:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
tell("three hundred that go away in the middle of a long answer", True)
now = settled((before[0] + 16, before[1]))     # the last exports are kept
tell("no descriptor and no thread is left", now[0] <= before[0] + 16 and now[1] <= before[1], (before, now))
