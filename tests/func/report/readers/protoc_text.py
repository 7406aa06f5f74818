# SPDX-License-Identifier: MIT
"""protoc_text.py - read the output of `protoc --decode`, for the tests of exports"""
import re

ESCAPES = {b'n': b'\n', b't': b'\t', b'r': b'\r'}


def proto(lines, encoding=None):
    """The text as lists of (field, value); strings are bytes unless @encoding says of which they are made."""
    root = []
    stack = [root]
    for line in lines:
        line = line.strip()
        if line.endswith('{'):
            inner = []
            stack[-1].append((line[:-1].strip(), inner))
            stack.append(inner)
        elif line == '}':
            stack.pop()
        elif line:
            key, value = line.split(': ', 1)
            if value[0] == '"':
                value = re.sub(rb'\\([0-7]{3}|.)', lambda m: bytes([int(m[1], 8)]) if m[1][0:1].isdigit() else ESCAPES.get(m[1], m[1]), value[1:-1].encode())
                value = value.decode(encoding, 'surrogateescape') if encoding else value
            stack[-1].append((key, value))
    return root


def one(message, key, default=None):
    return next((v for k, v in message if k == key), default)
