#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch.sh - fetch-kernel.sh keeps no incomplete kernel, and does not wait for the network for ever
#
# apt and dpkg are programs of ours here: nothing is asked of the network. The machine's apt sources are only copied.
. "$(dirname "$0")/../../lib/common.sh"
need apt-get dpkg flock tar timeout		# as fetch-kernel.sh

mkdir bin package package/boot
# As many bytes as do not fit into what tar or a pipe reads at once.
head -c 300000 /dev/zero | tr '\0' k >package/boot/vmlinuz-6.1.0-1-cloud-arm64
tar -cf whole.tar -C package ./boot || exit 1
cat >bin/apt-get <<'TOOL'
#!/bin/sh
case "$*:$NETWORK" in
*:swallows) exec sleep 1000 ;;
*:none) exit 100 ;;
*download*) echo >linux-image-6.1.0-1-cloud-arm64_6.1_arm64.deb ;;
esac
TOOL
cat >bin/apt-cache <<'TOOL'
#!/bin/sh
[ "$NETWORK" != there ] || echo '  Depends: linux-image-6.1.0-1-cloud-arm64'
TOOL
printf '#!/bin/sh\ncat "$PACKAGE"\n' >bin/dpkg
chmod +x bin/*
# fetch NETWORK TAR [LIMIT]: on a machine where that is so
fetch() {
	run env PATH="$tmp/bin:$PATH" NETWORK="$1" PACKAGE="$tmp/$2" APT_LIMIT="${3:-60}" "$top/tests/lib/fetch-kernel.sh" -d kept arm64
}
refused() {
	expect_status 1
	expect_err "cannot unpack linux-image-6.1.0-1-cloud-arm64"
	expect_equal "$1: what is kept" "$(cd kept && echo vmlinuz*)" 'vmlinuz*'
}

fetch swallows whole.tar 1
[ "$status" -ne 77 ] || ! grep -q 'no apt sources' err || skip "no apt sources on this machine"
expect_status 77
fetch none whole.tar
expect_status 77
head -c 100000 whole.tar >half.tar
fetch there half.tar
refused "a package that ends in the middle"
fetch there missing.tar
refused "a package that cannot be read"
tar -cf other.tar -C package --exclude='vmlinuz-*' ./boot
fetch there other.tar
refused "a package without a kernel"
fetch there whole.tar
expect_status 0
expect_out "$(pwd)/kept/vmlinuz-arm64"
cmp kept/vmlinuz-arm64 package/boot/vmlinuz-6.1.0-1-cloud-arm64 || fail "the kernel is not what the package has"
fetch none missing.tar		# it is there: nothing is asked
expect_status 0
expect_out "$(pwd)/kept/vmlinuz-arm64"
