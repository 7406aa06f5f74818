// SPDX-License-Identifier: MIT
/* request.c - make a ptrace request again while the kernel says that the task does not stand, on every machine */
#include "control/ptrace/task_stop.h"

#include <errno.h>
#include <sys/ptrace.h>

#define REQUEST_TRIES	3 /* GUARD(request_tries, 1) */

int task_request(int request, pid_t tid, uint64_t addr, void *data)
{
	for (int i = 0; i < REQUEST_TRIES; i++)
		if (ptrace(request, tid, addr, data) >= 0)
			return 0;
		else if (errno != ESRCH)
			break;
	return -errno;
}
