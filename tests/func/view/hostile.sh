#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile.sh - attacks on uft view: malicious requests, and damaged or false files beside a recording
. "$(dirname "$0")/common.sh"
need python3
here=$(cd "$(dirname "$0")" && pwd)

"$SYNTH" a.uft 60000 3
"$SYNTH" b.uft 20000 4
serve a.uft b.uft
run python3 "$here/hostile.py" "$url" "$server"
expect_status 0
cat out
while IFS= read -r line; do
	check
	case $line in "ok "*) ;; *) fail "$line" ;; esac
done <out
end_server
expect_equal "its end" "$status" 0

# A port that another server has: one sentence, and nothing else is done.
serve a.uft
port=${url#http://127.0.0.1:} port=${port%%/*}
"$uft" view --no-browser --port "$port" b.uft >out 2>err
expect_equal "its status" $? 1
expect_equal "what it says" "$(cat out err)" \
	"uft view: cannot listen on port $port of 127.0.0.1: Address already in use (without --port any free one is taken)"
end_server

# ---- The index and the levels of a recording ----
"$SYNTH" large.uft 2100000 5
"$SYNTH" other.uft 2100001 6
picture() {
	ask info
	duration=$(field duration)
	ask tiles from=0 to="$duration" width=300 rows=0,1,2,3,c0,c1
	mv answer picture
	ask list first=4000000 count=5
	cat picture answer | sed 's/"generation":[0-9]*//g'
}
# saved: both are there (again), after what was answered with
saved() { [ -s large.uft.index ] && [ -s large.uft.levels ] && ! ls large.uft.*.?????? >/dev/null 2>&1; }
serve other.uft
ask info
eventually [ -s other.uft.levels ]
end_server
serve large.uft
picture >want
eventually saved || fail "nothing is kept beside the recording: $(ls -l large.uft*)"
check
[ $((20 * ($(wc -c <large.uft.index) + $(wc -c <large.uft.levels)))) -le "$(wc -c <large.uft)" ] ||
	fail "index and levels are more than 5 % of the recording: $(wc -c large.uft*)"
cp large.uft.index good.index
cp large.uft.levels good.levels
reads_the_same() {
	curl -s -X POST "${url}api/reload" >answer
	picture >seen
	expect_equal "a picture with $1" "$(cmp seen want 2>&1)" ""
	rm -rf large.uft.index large.uft.levels
	cp good.index large.uft.index
	cp good.levels large.uft.levels
}
reads_the_same "what was kept"
damage() { # FILE PLACE: a byte of it
	python3 -c 'import sys
f = open(sys.argv[1], "r+b")
size, part = f.seek(0, 2), int(sys.argv[2])
f.seek(min(size - 1, part if part < 100 else size * (part - 100) // 16))
byte = f.read(1)[0]
f.seek(-1, 1)
f.write(bytes([byte ^ 0xa5]))' "$1" "$2"
}
for what in index levels; do
	for place in 0 33 57 90 100 103 108 113 116; do
		damage large.uft.$what $place
		reads_the_same "byte $place of its $what damaged"
	done
	for size in 0 95 5000; do
		head -c $size good.$what >large.uft.$what
		reads_the_same "$size bytes of its $what"
	done
	cat good.$what good.$what >large.uft.$what
	reads_the_same "its $what twice"
	cp other.uft.$what large.uft.$what
	reads_the_same "the $what of another recording"
	for kind in link pipe directory; do
		rm large.uft.$what
		case $kind in link) ln -s "$PWD/good.$what" large.uft.$what ;; pipe) mkfifo large.uft.$what ;; directory) mkdir large.uft.$what ;; esac
		reads_the_same "a $kind as its $what"
	done
	if [ "$(id -u)" = 0 ]; then
		damage large.uft.$what 90
		chown 65534 large.uft.$what
		reads_the_same "the $what of another user"
	else
		echo "files of another user are left out: only root can make them"
	fi
done

# ---- The recording itself: what was opened is shown until it is read again; then it is told what is there now ----
state() {
	curl -s -X POST "${url}api/reload" >answer
	grep -q '"state":"failed"' answer || ask info
	grep -o '"state":"[a-z]*"' answer | head -n 1
}
for kind in nothing directory pipe socket text; do
	mv large.uft kept.uft
	case $kind in
	directory) mkdir large.uft ;;
	pipe) mkfifo large.uft ;;
	socket) python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("large.uft")' ;;
	text) printf 'no recording at all\n' >large.uft ;;
	esac
	ask info
	expect_equal "it has changed: $kind" "$(field changed)" 1
	expect_equal "read again: $kind" "$(state)" '"state":"failed"'
	rm -rf large.uft
	mv kept.uft large.uft
	expect_equal "after $kind it is back" "$(state)" '"state":"done"'
done
reads_the_same "all as it was"
end_server
expect_equal "its end after that" "$status" 0
