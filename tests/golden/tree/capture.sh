#!/bin/sh
# SPDX-License-Identifier: MIT
#
# capture.sh TARGET KERNEL OUTDIR [CASE...] - boots KERNEL (a vmlinuz of x86-64 with ftrace) in QEMU, runs each of cases/, or only
# these, in its tracing directory as a fresh session would find it, and leaves what they printed in OUTDIR, a file each; files and instance are the
# lists of the tracing directory and of one in instances/, with types and modes. TARGET is linked statically.
#
# Made kernel/ from Debian 12's: apt-get download linux-image-6.12.*-amd64 (bookworm-backports), dpkg -x, boot/vmlinuz-*.
set -eu
target=$1 kernel=$2 outdir=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
for tool in qemu-system-x86_64 busybox cpio gzip timeout; do
	command -v "$tool" >/dev/null 2>&1 || { echo "capture.sh: $tool is not installed"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/uft-capture.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/tmp" "$work/root/cases"
cp "$(command -v busybox)" "$work/root/bin/busybox"
cp "$target" "$work/root/golden"
cases=${CASES:-$here/cases}	# of another folder: with what they source beside it
(cd "$cases"; [ $# -gt 0 ] || set -- *; cp "$@" "$work/root/cases/")
if [ -e "$cases/../lib.sh" ]; then cp "$cases/../lib.sh" "$work/root/lib.sh"; fi
cat >"$work/root/reset" <<'RESET'
cd /sys/kernel/tracing
echo 0 >tracing_on
echo 0 >function_profile_enabled
echo nop >current_tracer
for i in instances/*; do [ -d "$i" ] && rmdir "$i"; done
for f in set_ftrace_filter set_ftrace_notrace set_graph_function set_graph_notrace set_ftrace_pid set_ftrace_notrace_pid set_event; do
	grep ':.*:' $f 2>/dev/null | while read -r command; do echo "!${command%:unlimited}" | sed 's/:count=.*/:0/' >>$f; done
	echo >$f
done
while read -r o; do echo "$o" >trace_options; done </tmp/options
for v in "1408 buffer_size_kb" "local trace_clock" "0 tracing_thresh" "0 max_graph_depth" "0 snapshot" "50 buffer_percent" "128 saved_cmdlines_size" "3 tracing_cpumask" "0 tracing_max_latency" "0 events/enable"; do
	echo "${v%% *}" >"${v#* }"
done
echo >error_log
echo >trace
echo 1 >tracing_on
RESET
cat >"$work/root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin T=/golden TMP=/tmp LIB=/lib.sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tracefs none /sys/kernel/tracing
stty -F /dev/ttyS1 raw -echo
cd /sys/kernel/tracing
cat trace_options >/tmp/options
for c in /cases/*; do
	sh /reset 2>/dev/null
	cd /sys/kernel/tracing
	echo "case ${c##*/}"
	timeout 120 sh "$c" >/tmp/out 2>/tmp/err || echo "status $?"
	cat /tmp/err
	{ echo "=== ${c##*/}"; cat /tmp/out; } >/dev/ttyS1
done
{ echo "=== files"; find . -path './events/[a-eg-z]*' -prune -o -path './instances/*' -prune -o -path './per_cpu/cpu1' -prune -o -print |
	xargs stat -c '%A %n' | sort -k 2; } >/dev/ttyS1
{ echo "=== instance"; mkdir instances/foo; cd instances/foo; find . -path './events/*' -prune -o -path './per_cpu/cpu1' -prune -o -print |
	xargs stat -c '%A %n' | sort -k 2; echo "=== end"; } >/dev/ttyS1
sync; poweroff -f
INIT
chmod +x "$work/root/init"
(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"
accel="tcg,thread=single -cpu max"
[ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo && accel="kvm -cpu host"
# shellcheck disable=SC2086
timeout -k 5 "${LIMIT:-300}" qemu-system-x86_64 -accel $accel -m 512 -smp 2 -no-reboot -nodefaults -display none -kernel "$kernel" -initrd "$work/initrd" \
	-append "console=ttyS0 quiet panic=-1 rdinit=/init" -serial file:"$work/console" -serial file:"$work/told" </dev/null || true
cat "$work/console"
mkdir -p "$outdir"
awk -v dir="$outdir" '/^=== / { if (file) close(file); file = dir "/" $2; if ($2 == "end") { whole = 1; exit } printf "" >file; next } file { print >file }
	END { exit !whole }' "$work/told" || { echo "capture.sh: the kernel did not come to the end of the cases"; exit 1; }
