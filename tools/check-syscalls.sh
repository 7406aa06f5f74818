#!/bin/sh
# check-syscalls.sh OBJDUMP OBJECT... - no instruction of these objects, or archives, makes a system call
#
# What patch, ring and trace ask of a host goes through platform.h, and platform/bare gives it without an operating system. Exits 1
# and names the function of each instruction that does.
set -eu
[ $# -ge 2 ] || { echo "usage: check-syscalls.sh OBJDUMP OBJECT..." >&2; exit 2; }
objdump=$1
shift
"$objdump" -d --no-show-raw-insn "$@" | awk '
	/file format/ { file = $1 }
	/^[0-9a-f]+ <.*>:$/ { name = $2 }
	/^ *[0-9a-f]+:\t/ {
		n++
		if ($2 ~ /^(syscall|sysenter|svc|hvc|smc|ecall)$/ || ($2 == "int" && $3 == "$0x80")) {
			print "check-syscalls: " file " " name " " $2 " " $3
			bad++
		}
	}
	END {
		if (n < 1000) {
			print "check-syscalls: only " n + 0 " instructions"
			exit 1
		}
		exit bad > 0
	}' >&2
