#!/bin/sh
# SPDX-License-Identifier: MIT
# browser.sh - the browser gets the address by a file of this user alone: no command line, which all users can read, has the token
. "$(dirname "$0")/common.sh"

"$SYNTH" a.uft 1000 3 1
mkdir bin run
cat >bin/xdg-open <<'END'
#!/bin/sh
printf '%s\n' "$@" >"$OUT.part"
file=${1#file://}
stat -c %a "$file" >"$OUT.mode"
cp "$file" "$OUT.html"
mv "$OUT.part" "$OUT"
END
cat >bin/chromium <<'END'
#!/bin/sh
printf '%s\n' "$@" >"$OUT.part"
for arg; do
	case $arg in --user-data-dir=*) profile=${arg#*=} ;; esac
	case $arg in --screenshot=*) echo picture >"${arg#--screenshot=}" ;; file://*) cp "${arg#file://}" "$OUT.html" ;; esac
done
tr '\0' '\n' <"/proc/$PPID/cmdline" >"$OUT.parent"
# A helper outlives it, and goes on with the profile.
(for _ in $(seq 300); do mkdir -p "$profile/a" && date >"$profile/a/b"; sleep 0.01; done) &
mv "$OUT.part" "$OUT"
END
chmod +x bin/*

PATH=$PWD/bin:$PATH DISPLAY=:99 XDG_RUNTIME_DIR=$PWD/run OUT=$PWD/seen "$uft" view a.uft >address 2>serve.err &
server=$!
seen() { [ -s seen ]; }
eventually seen || fail "no browser was started"
url=$(cat address)
token=$(echo "$url" | cut -d/ -f4)
[ ${#token} = 32 ] || fail "no token: $url"
expect_equal "what it is started with" "$(sed 's/uft-view-[^/]*\.html/NAME/' seen)" "file://$PWD/run/NAME"
expect_equal "the file's mode" "$(cat seen.mode)" 600
grep -q "location.replace(\"$url\")" seen.html || fail "the file does not lead there: $(cat seen.html)"
expect_equal "the address answers" "$(curl -s -o /dev/null -w '%{http_code}' "${url}api/info")" 200
expect_equal "nobody is let in without the token" "$(curl -s -o /dev/null -w '%{http_code}' "${url%"$token"/}")" 403
end_server
expect_equal "files that are left" "$(ls run)" ""

# Mistakes are reported at once, not by the page or when all is drawn.
run "$uft" view --no-browser --filter 'func ==' a.uft
expect_status 2
expect_err "uft view: --filter: "
run "$uft" view --png nothing/a.png a.uft
expect_status 1
grep -q 'built without its page' err || expect_err "uft view: cannot write nothing/a.png: No such file or directory"

# A directory that cannot be written to is passed over; and a picture.
rm -f seen*
PATH=$PWD/bin:$PATH XDG_RUNTIME_DIR=$PWD/nothing TMPDIR=$PWD/run OUT=$PWD/seen run "$uft" view --png a.png --filter "func == 'a</script>\\\"b'" a.uft
if grep -q 'built without its page' err; then
	exit 0
fi
expect_status 0
expect_equal "the picture" "$(cat a.png)" picture
grep -q '127.0.0.1' seen seen.parent && fail "a command line has the address: $(cat seen seen.parent)"
grep -qF "$PWD/run/uft-view-" seen || fail "no file: $(cat seen)"
grep -q "^--user-data-dir=$PWD/run/uft-view-......\$" seen || fail "the profile is not in TMPDIR: $(cat seen)"
expect_equal "no character of a filter ends the text" "$(grep -o 'location.replace("[^"]*")' seen.html | sed 's/.*#//')" \
	'picture=1&filter=func%20%3D%3D%20%27a%3C%2Fscript%3E%5C%22b%27")'
expect_equal "files that are left then" "$(ls run)" ""

# Of several recordings there is one picture, on one clock.
rm -f seen*
PATH=$PWD/bin:$PATH XDG_RUNTIME_DIR=$PWD/nothing TMPDIR=$PWD/run OUT=$PWD/seen run "$uft" view --png both.png a.uft a.uft
expect_status 0
rm -f seen*.html
PATH=$PWD/bin:$PATH XDG_RUNTIME_DIR=$PWD/nothing TMPDIR=$PWD/run OUT=$PWD/seen run "$uft" view --png both.png --offset 1,-2.5ms a.uft a.uft
expect_status 0
expect_equal "offsets" "$(grep -o 'location.replace("[^"]*")' seen.html | sed 's/.*#//')" 'picture=1&file=all&shift=1000000000,-2500000")'
for offset in 1,2,3 1, 1x ''; do
	run "$uft" view --no-browser --offset "$offset" a.uft a.uft
	expect_status 2
done
PATH=$PWD/bin:$PATH XDG_RUNTIME_DIR=$PWD/nothing TMPDIR=$PWD/run OUT=$PWD/seen run "$uft" view --png both.png a.uft a.uft
expect_equal "of all" "$(grep -o 'location.replace("[^"]*")' seen.html | sed 's/.*#//')" 'picture=1&file=all")'

# A signal ends it while the browser draws: no thread takes the signal and ends the program, with files and the browser left.
rm -f seen*
mkdir slow
cat >slow/chromium <<'END'
#!/bin/sh
echo $$ >"$OUT.part"
mv "$OUT.part" "$OUT"
exec sleep 300
END
chmod +x slow/chromium
PATH=$PWD/slow:$PATH XDG_RUNTIME_DIR=$PWD/nothing TMPDIR=$PWD/run OUT=$PWD/seen "$uft" view --png late.png a.uft >out 2>err &
server=$!
eventually seen || fail "no browser draws: $(cat err)"
end_server
expect_equal "the status after a signal" "$status" 130
expect_equal "files that are left after a signal" "$(ls run)" ""
gone() { ! kill -0 "$(cat seen)" 2>/dev/null; }
eventually gone || { fail "the browser goes on"; kill "$(cat seen)"; }
