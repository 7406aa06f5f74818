#!/bin/sh
# SPDX-License-Identifier: MIT
# page.sh - the page of uft view in a browser: graph, list, filters, reports, keys, names that are markup, and a picture by --png
. "$(dirname "$0")/common.sh"
has_browser || skip "$missing"

"$SYNTH" a.uft 60000 5 3
"$SYNTH" markup.uft 3000 6 2 8 '<img src=x onerror="document.title=1"><script>document.title=2</script>'
head -c 200001 a.uft >grows.uft
"$SYNTH" none.uft 0
"$SYNTH" deep.uft 40000 5 2 120
serve a.uft markup.uft grows.uft none.uft deep.uft
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url")" = 200 ] || skip "this uft was built without its page"
run node "$top/tests/func/view/page.mjs" "$modules/playwright-core/index.mjs" "$modules/axe-core/axe.min.js" "$chromium" "$url"
expect_status 0
cat out
check
[ "$(grep -c '^ok ' out)" -ge 20 ] || { fail "checks are missing"; show; }
end_server

HOME=$tmp run "$uft" view --png graph.png --tab flame --range 1ms~2ms a.uft
expect_status 0
expect_equal "a picture" "$(head -c 8 graph.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a

HOME=$tmp run "$uft" view --png both.png a.uft deep.uft
expect_status 0
expect_equal "a picture of two recordings" "$(head -c 8 both.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a

# The picture has the report in it, however long that takes: the lower half, where it is, has the colours of functions.
cat >colours.py <<'END'
import struct, sys, zlib
png, at, data = open(sys.argv[1], "rb").read(), 8, b""
while at < len(png):
    n, kind = struct.unpack(">I4s", png[at:at + 8])
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
    elif kind == b"IDAT":
        data += png[at + 8:at + 8 + n]
    at += 12 + n
size, raw = {2: 3, 6: 4}[colour], zlib.decompress(data)
line, before, seen = width * size, bytearray(width * size), set()
for y in range(height):
    how, now = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
    for i in range(line):
        a, b, c = now[i - size] if i >= size else 0, before[i], before[i - size] if i >= size else 0
        p = a + b - c
        near = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
        now[i] = (now[i] + (0, a, b, (a + b) // 2, near)[how]) & 255
    before = now
    if y > height * 0.76:
        break
    if y > height * 0.69:
        seen |= {bytes(now[i:i + 3]) for i in range(0, line, size) if max(now[i:i + 3]) - min(now[i:i + 3]) > 40}
print(len(seen))
END
if command -v python3 >/dev/null; then
	"$SYNTH" late.uft 400000 7 3 8
	HOME=$tmp run "$uft" view --png late.png --tab flame late.uft
	expect_status 0
	check
	colours=$(python3 colours.py late.png 2>&1)
	[ "$colours" -gt 20 ] || fail "the flame graph is not in the picture: $colours colours"
fi
