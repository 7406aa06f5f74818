#!/bin/bash
# SPDX-License-Identifier: MIT
# doctor.sh - uft doctor on programs and processes with the property that each check looks for; tests/unit/control has the rest
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/cli
${CC:-cc} -O1 -o patient "$here/doctor_cases.c" || exit 1
cp "$here/prog.c" prepared.c
build_traced prepared

# says LEVEL SUBJECT TEXT: the output has such a line.
says() {
	check
	grep -E "^$1 +$2: " out | grep -qF -e "$3" || { fail "no '$1 $2: ...$3...'"; show; }
}

# patient WHAT: starts one; $pid is the process in question. cure: ends it.
patient() {
	rm -f "fifo.$1" "pid.$1"
	mkfifo "fifo.$1"
	./patient "$1" <"fifo.$1" >"pid.$1" &
	started=$!
	exec {hold}>"fifo.$1"
	eventually [ -s "pid.$1" ]
	pid=$(cat "pid.$1")
	[ "$1" != strict ] || eventually grep -q '^Seccomp:.1' "/proc/$pid/status"	# that it is, it cannot say any more
	[ -n "$pid" ] || { fail "patient $1 did not start"; exit 1; }
}

cure() {
	exec {hold}>&-
	wait "$started" 2>/dev/null
}

# ---- The machine
run "$uft" doctor
expect_status 0
says ok ptrace "permitted"
says "ok|warn" cpu ""
says "ok|warn" clock "tsc"
says ok rings "/uft"
check
! grep -qvE '^(ok  |warn|fail)  [a-z-]+: .' out || { fail "a line of another form"; show; }

# The same as JSON and CSV: sizes that stand in sentences may change meanwhile, levels and subjects do not.
if command -v python3 >/dev/null; then
	awk '{ sub(":.*", ""); print $1, $2 }' out >want
	run "$uft" doctor --json
	expect_status 0
	python3 -c 'import json
table = json.load(open("out"))
assert table["report"] == "doctor" and table["version"] == 1
assert [r["level"] + " " + r["subject"] for r in table["rows"]] == open("want").read().splitlines()
assert all(r["text"] and r["remedy"] != "" and len(r) == 4 for r in table["rows"])' || { fail "JSON is not as the text"; show; }
	run "$uft" doctor --csv
	expect_status 0
	python3 -c 'import csv
rows = list(csv.DictReader(open("out"), strict=True))
assert [r["level"] + " " + r["subject"] for r in rows] == open("want").read().splitlines()
assert all(r["text"] and len(r) == 4 for r in rows)' || { fail "CSV is not as the text"; show; }
	run "$uft" doctor --csv --json
	expect_status 2
	run "$uft" doctor --json 999999999
	expect_status 1
	expect_equal "no table of no process" "$(wc -c <out)" 0
fi

run ./patient refused 101 "$uft" doctor		# ptrace
expect_status 1
says fail ptrace "PTRACE_SEIZE of an own child"
says warn seccomp "inherited"
run ./patient refused 434 "$uft" doctor -q	# pidfd_open
expect_status 1
says fail kernel "pidfd_open (Operation not permitted)"
check
! grep -q ^ok out || fail "--quiet says what is well"
run ./patient refused 310 "$uft" doctor		# process_vm_readv
says fail kernel "process_vm_readv"
run ./patient refused 324 "$uft" doctor		# membarrier
expect_status 0
says warn kernel "membarrier"
run ./patient refused 334 "$uft" doctor ./prepared	# rseq
says warn rseq "the kernel has no rseq"

# ---- Programs
run "$uft" doctor ./prepared
expect_status 0
says ok program "a dynamic x86-64 program"
says ok functions "prepared function entries"
says ok symbols "its own symbol table"
says ok privilege "none"
cp prepared stripped && strip stripped
run "$uft" doctor ./stripped
says warn symbols ""
run "$uft" doctor no-such-program
expect_status 1
says fail program "no such program in PATH"
run "$uft" doctor /
expect_status 1
says fail program "directory"
printf '#!/bin/sh\necho\n' >script && chmod +x script
run "$uft" doctor ./script
expect_status 0
says ok program "./script is a script; what runs is /bin/sh"
echo "no program" >text && chmod +x text
run "$uft" doctor ./text
says fail program "neither an ELF program nor a script"
cp prepared other && printf '\xb7\x00' | dd of=other bs=1 seek=18 conv=notrunc status=none
run "$uft" doctor ./other
expect_status 1
says fail program "another architecture"
run env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$uft" doctor ./prepared
says warn rseq "GLIBC_TUNABLES"
run "$uft" doctor ./patient
says "ok|warn" functions "no function is prepared; of"
cp prepared.c noted.c
build_traced noted -fcf-protection -Wl,-z,shstk
run "$uft" doctor ./noted
says ok shadow-stack ""
check
! grep -q "not built for one" out || { fail "the note is not seen"; show; }

# ---- Processes
run "$uft" doctor 999999999
expect_status 1
expect_err "no file and no process 999999999"
patient well
run "$uft" doctor "$pid"
expect_status 0
says ok process "(patient)"
says ok access "may trace"
says ok tracer "no other process"
says ok namespaces "same"
says ok rseq "registered"
says ok seccomp "no filter"
check
[ "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")" = 0 ] || fail "doctor holds the process"
cure
patient zombie
run "$uft" doctor "$pid"
expect_status 1
says fail process "has ended"
cure
patient traced
run "$uft" doctor "$pid"
expect_status 1
says fail tracer "is traced by process $started (patient)"
cure
patient filtered
run "$uft" doctor "$pid"
expect_status 0
says warn seccomp "in force; it must permit"
cure
patient strict
run "$uft" doctor "$pid"
expect_status 1
says fail seccomp "strict"
cure
patient locked
run prlimit --memlock=65536 --pid "$pid"
run setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$uft" doctor "$pid"
says warn memlock "8 KB are locked and the limit is 64 KB"
cure
if [ -d /proc/2 ] && [ "$(cat /proc/2/comm)" = kthreadd ]; then
	run "$uft" doctor 2
	expect_status 1
	says fail program "kernel thread"
fi

mkfifo fifo.rec
"$uft" record -q -o rec.uft ./patient well <fifo.rec >pid.rec 2>err.rec &
recorder=$!
exec {hold}>fifo.rec
eventually [ -s pid.rec ]
run "$uft" doctor "$(cat pid.rec)"
expect_status 1
says fail process "another session of uft"
exec {hold}>&-
wait "$recorder"

# ---- Other users; only root can be somebody else. One of our own: the run directory of 65534 is other tests', too.
[ "$(id -u)" = 0 ] || { echo "not root: other users are not tested"; exit 0; }
need setpriv unshare
user=$((61000 + $$ % 4000))
chmod 755 "$tmp"
cp "$uft" uft && cp prepared gains && chown 65533 gains && chmod 4755 gains
nobody() { run setpriv --reuid=$user --regid=$user --clear-groups --no-new-privs env -u XDG_RUNTIME_DIR ./uft doctor "$@"; }
rm -rf /dev/shm/uft-$user
nobody ./gains
expect_status 1
says fail privilege "setuid"
says "ok|warn" ptrace ""
patient well
nobody "$pid"
expect_status 1
says fail access "another user"
cure
chmod 755 patient
as_nobody="setpriv --reuid=$user --regid=$user --clear-groups"
mkfifo fifo.un
$as_nobody ./patient undumpable <fifo.un >pid.un &
started=$!
exec {hold}>fifo.un
eventually [ -s pid.un ]
nobody "$(cat pid.un)"
expect_status 1
says fail access "undumpable"
cure
$as_nobody mkdir -p -m 755 /dev/shm/uft-$user
chmod 755 /dev/shm/uft-$user
nobody
expect_status 0
says ok rings "/dev/shm/uft-$user."
rm -rf /dev/shm/uft-$user /dev/shm/uft-$user.??????
cat >small.sh <<'S'
mount -t tmpfs -o size=$1,mode=1777 none /dev/shm && XDG_RUNTIME_DIR= exec ./uft doctor
S
run unshare -m sh small.sh 128k
expect_status 1
says fail rings "do not fit"
# One ring for each CPU there could be: one of the least size fits, one of the usual size does not.
run unshare -m sh small.sh "$(possible_cpus)m"
expect_status 0
says warn rings "has little room"
