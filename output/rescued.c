/* SPDX-License-Identifier: MIT */
/* rescued.c - a recording whose recorder was killed: what was rescued, and what is missing */
#include <errno.h>
#include <inttypes.h>

#include "output/output.h"

int uft_output_rescued(struct uft_stream *st, FILE *out)
{
	const struct uft_rescue *r = uft_stream_rescued(st);

	if (!r)
		return 0;
	fprintf(out,
		"# rescued: the recorder was killed; %" PRIu64 " bytes of what %" PRIu64 " process%s had in the buffers were "
		"added to the recording afterwards. Missing are the names of threads that it had not seen yet and of code that "
		"was made at run time", r->bytes, r->slices, r->slices == 1 ? "" : "es");
	if (r->unknown)
		fprintf(out, ", and all names of %" PRIu64 " process%s", r->unknown, r->unknown == 1 ? "" : "es");
	fputs("\n", out);
	return ferror(out) ? -EIO : 0;
}
