// SPDX-License-Identifier: MIT
/*
 * creds.c - keep the agent's credentials those of its target, also after that gave some up
 *
 * The target's /proc/PID/status is opened at the first tick, because most fork children end before that, and read at
 * every tick. At the first tick the agent has the credentials that clone gave it: the target's of the start. When the
 * lines that matter change, the agent sets groups, gids, uids and capabilities to the target's, in the order in which
 * rights are lost. Capabilities are only taken away: a target that made itself a user namespace has all of them there,
 * and the agent stays outside with fewer. A target may also gain rights: seteuid() back from a saved id. The agent has
 * the same saved ids and does the same.
 */
#include "runtime/agent/agent.h"

#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"

#define GROUPS_MAX	128		/* with more groups the agent keeps none */

struct creds {
	uint32_t uid[4], gid[4];	/* real, effective, saved, file system */
	uint32_t group[GROUPS_MAX];
	uint32_t ngroups;
	uint64_t cap_inheritable, cap_permitted, cap_effective;
};

struct cap_header { uint32_t version; int pid; };
struct cap_data { uint32_t effective, permitted, inheritable; };
#define CAP_VERSION_3	0x20080522u

static int starts_with(const char *at, const char *end, const char *word)
{
	while (at < end && *word && *at == *word)
		at++, word++;
	return !*word;
}

/* Reads up to @max decimal numbers of a line; returns how many, @max + 1 if there are more. */
static uint32_t numbers(const char *at, const char *end, uint32_t *out, uint32_t max)
{
	uint32_t n = 0;

	for (;;) {
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (at >= end || *at < '0' || *at > '9')
			return n;
		if (n == max)
			return max + 1;
		out[n++] = (uint32_t)mem_get_number(&at, end, 10);
	}
}

static uint64_t hex(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return mem_get_number(&at, end, 16);
}

/* Reads the lines that matter; returns their digest, which tells whether anything changed. */
static uint64_t parse(const char *text, const char *end, struct creds *c)
{
	uint64_t digest = 14695981039346656037ull;

	memset(c, 0, sizeof(*c));
	while (text < end) {
		const char *eol = text;
		int matters = 1;

		while (eol < end && *eol != '\n')
			eol++;
		if (starts_with(text, eol, "Uid:"))
			numbers(text + 4, eol, c->uid, 4);
		else if (starts_with(text, eol, "Gid:"))
			numbers(text + 4, eol, c->gid, 4);
		else if (starts_with(text, eol, "Groups:"))
			c->ngroups = numbers(text + 7, eol, c->group, GROUPS_MAX);
		else if (starts_with(text, eol, "CapInh:"))
			c->cap_inheritable = hex(text + 7, eol);
		else if (starts_with(text, eol, "CapPrm:"))
			c->cap_permitted = hex(text + 7, eol);
		else if (starts_with(text, eol, "CapEff:"))
			c->cap_effective = hex(text + 7, eol);
		else
			matters = 0;
		for (const char *p = text; matters && p < eol; p++)
			digest = (digest ^ (uint8_t)*p) * 1099511628211ull;
		text = eol + 1;
	}
	return digest;
}

/* Takes away the capabilities that the target does not have. */
static void drop_capabilities(const struct creds *c)
{
	struct cap_header h = { CAP_VERSION_3, 0 };
	struct cap_data d[2];

	if (sys_call3(__NR_capget, &h, d, 0))
		return;
	for (int i = 0; i < 2; i++) {
		d[i].permitted &= (uint32_t)(c->cap_permitted >> 32 * i);
		d[i].effective &= (uint32_t)(c->cap_effective >> 32 * i) & d[i].permitted;
		d[i].inheritable &= (uint32_t)(c->cap_inheritable >> 32 * i);
	}
	sys_call3(__NR_capset, &h, d, 0);
}

static int apply(const struct creds *c)
{
	struct creds own;		/* only its ids are used */
	long ret;

	/* may fail for lack of the right */
	sys_call3(__NR_setgroups, c->ngroups > GROUPS_MAX ? 0 : c->ngroups, c->group, 0);
	ret = sys_call3(__NR_setresgid, c->gid[0], c->gid[1], c->gid[2]);
	if (!ret)
		ret = sys_call3(__NR_setresuid, c->uid[0], c->uid[1], c->uid[2]);
	drop_capabilities(c);
	if (!ret)
		return 0;
	/*
	 * If this was refused, it is harmless unless the agent keeps more rights: root ids that the target gave up are
	 * more.
	 */
	sys_call3(__NR_getresuid, &own.uid[0], &own.uid[1], &own.uid[2]);
	for (int i = 0; i < 3; i++)
		if (own.uid[i] == 0 && c->uid[0] && c->uid[1] && c->uid[2])
			return (int)ret;
	return 0;
}

/* Reads the credentials of a task; 0: they cannot be read, and nothing is known. */
static uint64_t read_creds(int fd, struct creds *now)
{
	char text[4096];
	long n = fd < 0 ? 0 : sys_pread(fd, text, sizeof(text), 0);

	return n > 0 ? parse(text, text + n, now) : 0;
}

/* Could a task with these credentials gain a right that another task of its user has not? */
static int has_rights(const struct creds *c)
{
	for (int i = 1; i < 4; i++)
		if (c->uid[i] != c->uid[0] || c->gid[i] != c->gid[0])
			return 1;
	return c->cap_permitted != 0;
}

void creds_begin(struct agent_creds *c, int pid)
{
	*c = (struct agent_creds){ .pid = pid, .status_fd = -1 };
}

/*
 * Opens the target's status. 0 also if /proc shows nothing. -errno: the target hides itself (hidepid, and made
 * undumpable), so it may have given up rights that the agent has.
 */
static int open_status(struct agent_creds *c)
{
	struct creds own;
	char path[40];
	int fd = sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC), pid;

	c->is_open = 1;
	c->digest = read_creds(fd, &own);
	if (fd >= 0)
		sys_close(fd);
	pid = c->digest ? plat_proc_pid(c->pid) : 0;
	if (pid <= 0)
		return 0;
	mem_put(mem_put_dec(mem_put(path, "/proc/"), (uint64_t)pid), "/status");
	c->status_fd = sys_open(path, O_RDONLY | O_CLOEXEC);
	return c->status_fd < 0 && has_rights(&own) ? c->status_fd : 0; /* GUARD(creds_hidden) */
}

int creds_follow(struct agent_creds *c)
{
	struct creds now;
	uint64_t digest;
	int ret = c->is_open ? 0 : open_status(c);

	if (ret)
		return ret;
	digest = read_creds(c->status_fd, &now);
	if (!digest || digest == c->digest)
		return 0;
	c->digest = digest;
	return apply(&now);
}
