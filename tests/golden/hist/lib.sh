# SPDX-License-Identifier: MIT
# lib.sh - sourced by the cases, in the tracing directory of a kernel or of uft shell; $T is target.c
R=events/app/req D=events/app/done SY=synthetic_events S=events/synthetic
if [ -e uprobe_events ]; then
	for e in $R $D; do [ ! -d $e ] || for i in 1 2 3; do sed '/^#/d; s/^/!/; s/ \[[a-z]*\]$//' $e/trigger | while read -r t; do echo "$t" >>$e/trigger; done; done; done 2>/dev/null
	echo 0 >events/enable
	echo >$SY 2>/dev/null; : >uprobe_events
	set -- $($T offsets)
	echo "p:app/req $T:$1 id=%di:s32 us=%si:u64 name=+0(%dx):string" >>uprobe_events
	echo "p:app/done $T:$2 id=%di:s32 us=%si:u64 name=+0(%dx):string" >>uprobe_events
else
	$T fire
fi

# try FILE TEXT: what a write is answered with, and what error_log says then. Ours names each EINVAL, a kernel not all.
try() {
	$T try "$1" "$2"
	sed 's/^\[ *[0-9]*\.[0-9]*\] //' error_log | awk '/: error: Takes /{ skip = 3 } skip-- > 0 { next } { print }'
	echo >error_log
}
show() { for f; do echo "< $f"; sed 's/^ID: .*/ID: N/; s/^p:.*//; /^$/d' $f; done; }
traffic() { $T fire r1,100,alpha r2,200,beta d1,150,alpha r3,300,gamma d3,1300,gamma r1,5000,alpha d2,1024,beta d1,5007,alpha; }
text() { sed -n "s/.*: \($1: .*\)/\1/p" trace; }
# one TRIGGER: of req, with its table, and out again
one() { try $R/trigger "$1"; sed '/^#/d' $R/trigger; traffic; sed 's/\[ *[0-9]*\] }/[N] }/; s/common_pid: *[0-9]*/common_pid: N/; s/\(cpu\|CPU\): *[0-9]*/\1: N/g' $R/hist; try $R/trigger "!$1"; }
bad() { try $R/trigger "$1"; grep -q '^#' $R/trigger || { sed '/^#/d' $R/trigger; try $R/trigger "!$1"; }; }
