/* SPDX-License-Identifier: MIT */
/* idle_cpu.c - see idle_cpu.h */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/file/idle_cpu.h"

#define WINDOW_NS	100000000ull
#define IDLE_PART	4u		/* of the window, on one CPU */
#define STAT_BYTES	(256u << 10)	/* lines of a thousand CPUs; others are not counted */
#define IDLE_FIELD	3		/* cpuN user nice system idle iowait ... */

int64_t idle_cpu_ticks(const char *stat, int (*has)(const void *arg, unsigned cpu), const void *arg)
{
	int64_t sum = 0, n = 0;

	for (const char *line = stat, *end; !strncmp(line, "cpu", 3); line = end + 1) {
		end = strchr(line, '\n');
		if (line[3] >= '0' && line[3] <= '9') {		/* not the sum of all */
			char *at;
			unsigned cpu = (unsigned)strtoul(line + 3, &at, 10);

			for (int i = 0; i < IDLE_FIELD; i++)
				strtoull(at, &at, 10);
			if (has(arg, cpu)) {
				sum += (int64_t)strtoull(at, &at, 10);
				sum += (int64_t)strtoull(at, &at, 10);	/* waits for a disk: the CPU is idle, too */
				n++;
			}
		}
		if (!end)
			break;
	}
	return n ? sum : -1;
}

static int may_use(const void *arg, unsigned cpu)
{
	return cpu < CPU_SETSIZE && CPU_ISSET(cpu, (const cpu_set_t *)arg);
}

static int64_t idle_ticks(void)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(STAT_BYTES);
	int64_t ticks = -1;
	size_t n = 0;
	cpu_set_t set;

	while (text && n < STAT_BYTES - 1) {
		ssize_t got = read(fd, text + n, STAT_BYTES - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (text && !sched_getaffinity(0, sizeof(set), &set)) {
		text[n] = '\0';
		ticks = idle_cpu_ticks(text, may_use, &set);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return ticks;
}

int idle_cpu_is_there(struct idle_cpu *c, uint64_t now)
{
	int64_t ticks;
	uint64_t idle;

	if (c->looked_ns && now - c->looked_ns < WINDOW_NS)
		return !c->is_busy;
	ticks = idle_ticks();
	idle = ticks < 0 ? 0 : (uint64_t)ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	c->is_busy = ticks < 0 || (c->looked_ns && idle - c->idle_ns < (now - c->looked_ns) / IDLE_PART);
	c->looked_ns = now;
	c->idle_ns = idle;
	return !c->is_busy;
}
