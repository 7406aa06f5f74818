#!/bin/sh
# SPDX-License-Identifier: MIT
#
# view.sh BUILD [CALLS [DIRECTORY]] - how long uft view takes with a recording of CALLS calls (default 100 million: 1.6 GB in DIRECTORY)
#
#   first     until the page has a picture of a recording that has no index yet (if there is a Chromium)
#   index     until the answer `info` is done, the first time and with the index beside the file; its size; memory of the server
#   tiles     500 questions of random parts, of all sizes, as the page asks them in a window of 1600 x 950 (two CPUs and the 32 lanes that fit,
#             a quarter of the view on each side): ms by percentile, the answer's transfer included
#   picture   until the first picture of a later opening, in five browsers: what is of Chromium, and what of the page and the server
#   frames    a Chromium without GPU that pans and zooms for 300 frames: ms between frames, and of a drawing (if there is one)
set -eu
build=$(cd "$1" && pwd) calls=${2:-100000000} dir=${3:-/var/tmp}
top=$(cd "$(dirname "$0")/.." && pwd)
file=$dir/uft-view-bench.uft
address=$(mktemp)
trap 'kill "${server:-}" 2>/dev/null || :; rm -f "$file" "$file.index" "$file.levels" "$address"' EXIT
[ -x "$build/tests/lib/synth_make" ] || ninja -C "$build" tests/lib/synth_make >/dev/null
"$build/tests/lib/synth_make" "$file" "$calls"
cat "$file" >/dev/null

seconds() { date +%s.%N; }
# serve WHAT SECONDS: how long until it has all, asked every SECONDS.
serve() {
	: >"$address"
	begun=$(seconds)
	"$build/uft" view --no-browser "$file" >"$address" &
	server=$!
	while ! grep -q / "$address"; do sleep 0.01; done
	url=$(cat "$address")
	while ! curl -s "${url}api/info" | grep -q '"state":"done"'; do sleep "$2"; done
	echo "$1: $(echo "$(seconds) $begun" | awk '{ printf "%.2f s", $1 - $2 }'), $(awk -v hz="$(getconf CLK_TCK)" '{ printf "%.2f s", ($14 + $15) / hz }' "/proc/$server/stat") of CPU, $(awk '/^RssAnon/ { printf "%.0f MB resident", $2 / 1024 } /^VmHWM/ { printf "%.0f MB at most, ", $2 / 1024 }' "/proc/$server/status")"
}
end() { kill "$server"; wait "$server" || :; server=; }
chromium=$(command -v chromium || command -v chromium-browser || :)
[ -d "$top/view/web/node_modules/playwright-core" ] || chromium=
frames() { node "$top/bench/view.mjs" "$top/view/web/node_modules/playwright-core/index.mjs" "$chromium" "$@"; }
if [ -n "$chromium" ]; then
	"$build/uft" view --no-browser "$file" >"$address" &
	server=$!
	while ! grep -q / "$address"; do sleep 0.01; done
	frames "$(cat "$address")" first
	end
	rm -f "$file.index" "$file.levels"
fi
serve "first opening of $(stat -c %s "$file" | awk '{ printf "%.0f MB", $1 / 1e6 }')" 0.1
end
echo "index: $(stat -c %s "$file.index") bytes, levels: $(stat -c %s "$file.levels") bytes"
serve "second opening" 0.01
python3 - "$url" <<'END'
import http.client, json, random, sys, time, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
c = http.client.HTTPConnection(u.netloc)
def ask(q):
    begun = time.perf_counter()
    c.request("GET", u.path + "api/" + q)
    body = c.getresponse().read()
    return (time.perf_counter() - begun) * 1e3, body
duration = json.loads(ask("info")[1])["duration"]
random.seed(1)
for what in "anywhere", "in one place":
    ms, size, at = [], 0, random.random() * duration
    for i in range(500):
        width = int(duration * 10 ** -(random.random() * 5.5)) if what == "anywhere" else int(duration / 10000 * (1 + random.random()))
        begin = int(max(0, random.random() * (duration - width) if what == "anywhere" else at + random.random() * width))
        took, body = ask(f"tiles?from={begin}&to={begin + width}&width=2115&rows=c0,c1,0:0-23,1:0-7&packed=1")
        ms.append(took)
        size += len(body)
    ms.sort()
    print(f"tiles {what}: p50 {ms[250]:.1f} ms, p95 {ms[475]:.1f}, p99 {ms[495]:.1f}, max {ms[-1]:.1f}; {size / 500 / 1024:.0f} KB each")
END
echo "memory after that: $(awk '/^RssAnon/ { printf "%.0f MB", $2 / 1024 }' "/proc/$server/status")"
if [ -n "$chromium" ]; then
	frames "$url"
else
	echo "frames: chromium or playwright-core is not here"
fi
end
