#!/bin/sh
# SPDX-License-Identifier: MIT
# syscalls.sh COMPILER... - the table of syscalls.h, of the compiler's <asm/unistd.h>. Some functions of the kernel are newer than
# their calls' names.
echo '#include "hist/syscalls.h"'
echo 'const char *const uft_hist_syscall[UFT_HIST_SYSCALLS] = {'
echo '#include <asm/unistd.h>' | "$@" -E -dM - | LC_ALL=C awk '
	BEGIN { n = split("stat lstat fstat fstatat uname", is_new) }
	$2 ~ /^__NR_/ && $3 ~ /^[0-9]+$/ && $3 < 512 {
		name = substr($2, 6)
		for (i = 1; i <= n; i++) if (name == is_new[i]) name = "new" name
		if (name == "sendfile") name = "sendfile64"
		if (name == "umount2") name = "umount"
		print "\t[" $3 "] = \"" name "\","
	}' | LC_ALL=C sort
echo '};'
