# SPDX-License-Identifier: MIT
#
# build.sh - uft itself built for arm64: for tests, after common.sh
#
# native_build DIR: makes it in DIR, in a quarter of a minute of a CPU, and leaves $native (the build directory), $libs (where its
# libraries are) and $machine_libs (libc's) to the test. Skips it without compiler, Meson or a network to have libraries from.

native_build() {
	need aarch64-linux-gnu-gcc aarch64-linux-gnu-readelf meson ninja pkg-config flock timeout
	mkdir -p "$1"
	native=$(cd "$1" && pwd)/uft machine_libs=/usr/aarch64-linux-gnu/lib
	libs=${native%/uft}/libs/root
	status=0
	APT_LIMIT=${APT_LIMIT:-200} "$top/tests/lib/fetch-libs.sh" -d "${native%/uft}/libs" arm64 >root.ini 2>err || status=$?
	[ "$status" -ne 77 ] || skip "no libraries for arm64: $(tail -n 1 err)"
	[ "$status" -eq 0 ] || { cat err; exit 1; }
	# Two tests may ask at once: one builds, the other waits for it.
	(
		flock 9
		[ -e "$native/build.ninja" ] || meson setup --cross-file "$(cat root.ini)" --cross-file "$top/tools/cross/arm64.ini" \
			--buildtype=plain -Dwerror=true "$native" "$top" || exit
		ninja -C "$native" uft runtime/libuft-aarch64.so
	) 9>"$native.lock" >build.log 2>&1 || { tail -n 40 build.log; fail "uft cannot be built for arm64"; exit 1; }
}

# native_libs PROGRAM: the files of all libraries that it needs, and of those that they need.
native_libs() {
	for lib in $(aarch64-linux-gnu-readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		for dir in "$libs/usr/lib/aarch64-linux-gnu" "$libs/lib/aarch64-linux-gnu" "$machine_libs"; do
			[ -e "$dir/$lib" ] || continue
			echo "$dir/$lib"
			[ "$dir" = "$machine_libs" ] || native_libs "$dir/$lib"
			break
		done
	done
}
