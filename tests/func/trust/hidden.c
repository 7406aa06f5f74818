// SPDX-License-Identifier: MIT
/*
 * hidden.c CAPS - gives up root's rights, but for a capability if CAPS is `one`, and is not dumpable from then on
 *
 * Says `ready`, calls work() all the time, and does what its input says: d, drops that capability too; its end, ends.
 */
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int calls;

__attribute__((noinline)) void work(void)
{
	calls++;
}

static int keep(unsigned capabilities)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { .effective = capabilities, .permitted = capabilities } };

	return (int)syscall(SYS_capset, &head, data);
}

int main(int argc, char **argv)
{
	unsigned one = argc > 1 && !strcmp(argv[1], "one") ? 1u << CAP_NET_BIND_SERVICE : 0;
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char c;

	if (prctl(PR_SET_KEEPCAPS, 1) || syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, 65534, 65534, 65534) ||
	    syscall(SYS_setresuid, 65534, 65534, 65534) || keep(one) || prctl(PR_SET_DUMPABLE, 0))
		return 77;
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		work();
		if (poll(&input, 1, 1) <= 0)
			continue;
		if (read(0, &c, 1) != 1)
			break;
		if (c == 'd' && !keep(0)) {
			printf("dropped\n");
			fflush(stdout);
		}
	}
	printf("ok\n");
	return 0;
}
