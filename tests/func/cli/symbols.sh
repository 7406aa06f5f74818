#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh - names from other files: --symbols for filters and reports, JIT maps, debug files by build-id and from a server
. "$(dirname "$0")/../../lib/common.sh"

need strip nm objcopy

cat >prog.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utime.h>
__attribute__((noinline)) void leaf(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void hot(int n) { while (n--) leaf(); }
/* push %rbx; mov %rdi,%rbx; call *%rbx; pop %rbx; ret */
static const unsigned char code[] = { 0x53, 0x48, 0x89, 0xfb, 0xff, 0xd3, 0x5b, 0xc3 };
int main(int argc, char **argv)
{
	char path[64];
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *f;

	hot(3);
	if (argc > 1 && p != MAP_FAILED) {
		memcpy(p + 64, code, sizeof(code));
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		f = fopen(path, "w");
		fprintf(f, "%lx %zx jit old\n%lx %zx jit: call leaf.js:1\n%lx 8 jit behind\n", (unsigned long)p + 64, sizeof(code),
			(unsigned long)p + 64, sizeof(code), (unsigned long)p + 128);
		fclose(f);
		if (!strcmp(argv[1], "stale"))
			utime(path, &(struct utimbuf){ 86400, 86400 });
		f = fopen(argv[1], "w");
		fputs(path, f);
		fclose(f);
		((void (*)(void (*)(void)))(p + 64))(leaf);
		while (argc > 2 && access(argv[2], F_OK))
			usleep(10000);
	}
	return 0;
}
END
build_traced prog -Wl,--build-id
strip -o stripped prog
nm prog >prog.map
nm -S prog >prog.sizes

# A stripped program has no names; with the list filters know them and so does the recording.
run "$uft" record -q -l hot ./stripped
expect_status 1
run "$uft" record -q --symbols prog.map -p function -l leaf ./stripped
expect_status 0
expect_no_err
run "$uft" report
expect_equal "leaf from hot" "$(grep -c 'leaf <-hot' out)" 3
run "$uft" record -q --symbols "stripped=prog.sizes" -g hot ./stripped
expect_status 0
run "$uft" report
expect_out "hot() {"
expect_equal "calls of leaf" "$(grep -c 'leaf();' out)" 3

# A recording without names gets them in the report.
run "$uft" record -q ./stripped
run "$uft" report
expect_equal "no names" "$(grep -c 'leaf\|hot' out)" 0
run "$uft" report --symbols prog.map
expect_out "hot() {"
expect_out "leaf();"
run "$uft" report --symbols prog.map -F leaf
expect_equal "filter by a given name" "$(grep -c 'leaf' out)" 3
expect_equal "and only that" "$(grep -c 'hot' out)" 0

# What does not fit is said.
echo "ffff0000 T far_away" >far.map
run "$uft" record -q --symbols far.map ./stripped
expect_status 0
expect_err "no name from far.map was used"
run "$uft" record -q --symbols missing.map ./stripped
expect_status 1
expect_err "missing.map"

# Code that the program made: named by its map, the later line for an address counts.
run "$uft" record -q -p function -l leaf ./prog path
expect_status 0
run "$uft" report
expect_out "leaf <-jit: call leaf.js:1"
expect_equal "calls by name" "$(grep -c 'leaf <-hot' out)" 3
expect_equal "damaged" "$(stat_value trace.uft damaged_bytes)" 0
rm -f "$(cat path)"
# A map that was last written before the process began is of an earlier one with its number.
run "$uft" record -q -p function -l leaf ./prog stale
expect_status 0
run "$uft" report
expect_equal "calls of leaf" "$(grep -c 'leaf <-' out)" 4
expect_equal "names of its map" "$(grep -c jit out)" 0
rm -f "$(cat stale)"
# Also when the recorder leaves before the program ends.
all_called() { [ "$("$uft" report | grep -c 'leaf <-')" -eq 4 ]; }
rm -f path trace.uft
"$uft" record -q -p function -l leaf ./prog path end & pid=$!
eventually [ -s path ] && eventually all_called || fail "not all calls are recorded"
kill -TERM $pid
wait $pid
touch end
run "$uft" report
expect_out "leaf <-jit: call leaf.js:1"
rm -f "$(cat path)"

# A debug file by build-id, from a server: only when the variable names one.
need python3
ldconfig -p | grep -q libdebuginfod.so.1 || skip "libdebuginfod is not installed"
id=$(LC_ALL=C readelf -n stripped | sed -n 's/.*Build ID: //p')
mkdir -p "www/buildid/$id" cache
objcopy --only-keep-debug prog "www/buildid/$id/debuginfo"
cat >server.py <<'END'
import http.server, functools
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory="www"))
open("port.new", "w").write(str(server.server_port))
import os
os.rename("port.new", "port")
server.serve_forever()
END
python3 server.py >/dev/null 2>requests & server=$!
until [ -s port ]; do kill -0 $server || break; sleep 0.1; done
export DEBUGINFOD_CACHE_PATH="$tmp/cache" DEBUGINFOD_TIMEOUT=20
run "$uft" record -q -l hot ./stripped
expect_status 1
expect_equal "requests without the variable" "$(wc -l <requests)" 0
DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)/" run "$uft" record -q -p function -l leaf ./stripped
expect_status 0
run "$uft" report
expect_equal "leaf from hot, by the server" "$(grep -c 'leaf <-hot' out)" 3
check
grep -q "GET /buildid/$id/debuginfo.* 200" requests || { fail "the server was not asked"; cat requests; }
kill $server
wait $server 2>/dev/null
# A server that is not there is no error.
rm -rf cache
DEBUGINFOD_URLS="http://127.0.0.1:1/" run "$uft" record -q ./stripped
expect_status 0
