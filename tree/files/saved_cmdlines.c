/* SPDX-License-Identifier: MIT */
/* saved_cmdlines.c - saved_cmdlines, saved_tgids: the names and processes of the tasks that records tell of */
#include "tree/files/rows.h"

#include <errno.h>

#define CMDLINES_MAX	32768u	/* the kernel's: PID_MAX_DEFAULT */

static void comm_fn(void *arg, uint32_t pid, uint32_t tid, const char *comm)
{
	(void)pid;
	text_printf(arg, "%u %s\n", tid, comm[0] ? comm : "<...>");
}

/* Shows the last t->cmdlines tasks. */
int show_saved_cmdlines(const struct place *at, struct tree_text *out)
{
	return uft_live_tasks(at->t->instances->live, at->t->cmdlines, comm_fn, out);
}

int show_saved_cmdlines_size(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%u\n", at->t->cmdlines);
	return 0;
}

ssize_t store_saved_cmdlines_size(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t size = 0;
	int ret = text_number_in(p, n, 1, CMDLINES_MAX, &size);

	if (ret)
		return ret;
	h->t->cmdlines = (uint32_t)size;
	uft_live_keep_names(h->t->instances->live, h->t->cmdlines);
	return (ssize_t)n;
}

static void tgid_fn(void *arg, uint32_t pid, uint32_t tid, const char *comm)
{
	(void)comm;
	text_printf(arg, "%u %u\n", tid, pid);
}

int show_saved_tgids(const struct place *at, struct tree_text *out)
{
	if (!(at->t->instances->set.options & OPT_BIT(OPT_RECORD_TGID)))
		return 0;
	return uft_live_tasks(at->t->instances->live, SIZE_MAX, tgid_fn, out);
}
