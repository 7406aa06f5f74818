/* SPDX-License-Identifier: MIT */
/*
 * error_log.c - error_log: the mistakes in the last refused writes
 *
 * The kernel notes only mistakes of events and probes. Here every write that fails with EINVAL has an entry, because a
 * shell prints only the errno. A write that fails with EBUSY because of another setting has one entry, although servers
 * repeat the write for a while. The form is the kernel's: scripts take the caret's column from it.
 */
#include "tree/files/rows.h"

int show_error_log(const struct place *at, struct tree_text *out)
{
	for (size_t i = 0; i < at->in->nmistakes; i++) {
		const struct mistake *m = &at->in->mistake[i];

		text_printf(out, "[%5llu.%06llu] %s", (unsigned long long)(m->ts_ns / 1000000000),
			    (unsigned long long)(m->ts_ns / 1000 % 1000000), m->text);
	}
	return 0;
}

int truncate_error_log(const struct place *at)
{
	error_free(at->in);
	return 0;
}

/* Opening clears; what is written does not matter. */
ssize_t store_error_log(struct uft_handle *h, const char *p, size_t n)
{
	(void)h, (void)p;
	return (ssize_t)n;
}
