#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh - an installed uft works from its place: program, library, headers, pages, completion
. "$(dirname "$0")/../../lib/common.sh"
need meson pkg-config

build=$(dirname "$uft")
run meson install -C "$build" --no-rebuild --destdir "$tmp/root"
expect_status 0
prefix=$(find root -name libuftctl.pc | sed 's|/lib/.*||')
prefix=$tmp/$prefix
run "$prefix/bin/uft" --version
expect_status 0
for command in $("$uft" --list-commands); do
	expect_file "$prefix/share/man/man1/uft-$command.1"
done
expect_file "$prefix/share/man/man1/uft.1"
expect_file "$prefix/share/man/man7/uft-limits.7"
expect_file "$prefix/share/bash-completion/completions/uft"

# A program of somebody else: only pkg-config knows where things are.
cat >reader.c <<'END'
#include <stdio.h>

#include <output/output.h>
#include <stream/stream.h>

int main(int argc, char **argv)
{
	struct uft_select all = { 0 };
	struct uft_error err;
	struct uft_stream *st;

	if (argc < 2 || uft_stream_open(argv[1], &all, &st, &err) < 0)
		return 1;
	printf("%llu calls\n", (unsigned long long)uft_stream_info(st)->calls);
	uft_stream_close(st);
	return 0;
}
END
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name libuftctl.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --static --libs libuftctl)
# shellcheck disable=SC2086
run ${CC:-cc} -Wall -Wextra -Werror reader.c -o reader $flags
expect_status 0
cp "$top/tests/func/cli/prog.c" .
# shellcheck disable=SC2046
run ${CC:-cc} -O1 $("$prefix/bin/uft" cflags --quiet) prog.c -o prog
expect_status 0
run "$prefix/bin/uft" record -q ./prog calls 10
expect_status 0
run ./reader trace.uft
expect_out "22 calls"

# Tracepoints of a program, by the installed headers alone: it runs without uft, and is recorded.
flags="$(pkg-config --define-variable=prefix="$prefix" --cflags uft-tracepoint) $(pkg-config --define-variable=prefix="$prefix" --variable=kernel_cflags uft-tracepoint)"
cp "$top/tests/func/observe/tracepoints/sample.h" .
# shellcheck disable=SC2086
run ${CC:-cc} -Wall -Wextra -Werror -O2 -I. $flags "$top/tests/func/observe/tracepoints/program.c" -o traced
expect_status 0
expect_equal "nothing of uft is linked" "$(ldd ./traced | grep -c uft)" 0
expect_equal "without uft" "$(env -i ./traced 3)" "evaluated 0 enabled 0"
# shellcheck disable=SC2086
run ${CC:-cc} -Wall -Wextra -Werror -O2 -I"$top/tests/func/observe/probes" $flags "$top/tests/func/observe/probes/program.c" -o probed -pthread
expect_status 0
printf '#include <symbol/names.h>\nint main(void) { return !uft_glob_match("a*", "ab"); }\n' >names.c
# shellcheck disable=SC2046
run ${CC:-cc} -Wall -Wextra -Werror names.c -o names $(pkg-config --define-variable=prefix="$prefix" --cflags --static --libs libuftctl)
expect_status 0
if [ "$(uname -m)" = x86_64 ]; then
	run "$prefix/bin/uft" record -q -e uft_sample:sample_one -o traced.uft ./traced 3
	expect_status 0
	run "$prefix/bin/uft" stat traced.uft
	expect_out "events: 3"
fi
