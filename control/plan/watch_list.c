// SPDX-License-Identifier: MIT
/*
 * watch_list.c - memory that is watched: ranges as a user writes them
 *
 * The CPU has four debug registers, each for 1, 2, 4 or 8 bytes at a multiple of that. The kernel gives them
 * to perf events (perf.c) and reports each access: the thread, the time, and all registers behind the instruction.
 * Nothing of the program is changed, and other threads, which a fault's handler would let through, have the
 * same registers.
 *
 * What an instruction did there: events/access_decode.c.
 */
#include "control/plan/watch_list.h"

#include "symbol/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The option's text --------------------------------------------------------------------- */

void access_free(struct access_range *range, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(range[i].name);
	free(range);
}

/* 0 or -EINVAL. */
static int parse_range(const char *text, struct access_range *out)
{
	size_t n = strlen(text);
	const char *comma;
	char *end;

	*out = (struct access_range){ .is_write_only = n > 2 && !strcmp(text + n - 2, ":w") };
	n -= out->is_write_only ? 2 : 0;
	comma = memchr(text, ',', n);
	if (comma) {
		out->bytes = strtoull(comma + 1, &end, 0);
		if (end != text + n || comma[1] < '0' || comma[1] > '9' || !out->bytes)
			return -EINVAL;
		n = (size_t)(comma - text);
	}
	if (!n)
		return -EINVAL;
	if (text[0] < '0' || text[0] > '9') {
		out->name = strndup(text, n);
		return out->name ? 0 : -ENOMEM;
	}
	out->addr = strtoull(text, &end, 0);
	out->bytes = out->bytes ? out->bytes : 8;
	return end == text + n && out->addr + out->bytes > out->addr ? 0 : -EINVAL;
}

/* Of [addr, addr + bytes) the first piece that a debug register can watch. */
static uint64_t first_piece(uint64_t addr, uint64_t bytes)
{
	uint64_t n = 8;

	while (n > 1 && (addr % n || n > bytes))
		n /= 2;
	return n;
}

static uint32_t pieces(uint64_t addr, uint64_t bytes)
{
	uint32_t n = 0;

	for (uint64_t piece; bytes && n <= ACCESS_MAX; addr += piece, bytes -= piece, n++)
		piece = first_piece(addr, bytes);
	return n;
}

int access_parse(const char *const *watch, struct access_range **out, uint32_t *n, struct uft_error *err)
{
	uint32_t points = 0, count = 0;
	int ret = 0;

	*out = NULL;
	*n = 0;
	if (HOST_MACHINE != EM_X86_64)
		return uft_fail(err, -EOPNOTSUPP,
				"mmiotrace is not there on " HOST_NAME
				" yet: what an access did is read from x86-64 instructions only");
	while (watch && watch[count])
		count++;
	if (!count)
		return uft_fail(
			err, -EINVAL,
			"mmiotrace needs to know which memory to watch: a variable, or an address and how many bytes");
	*out = calloc(count, sizeof(**out));
	for (; *out && *n < count && !ret; (*n)++) {
		struct access_range *r = &(*out)[*n];

		ret = parse_range(watch[*n], r);
		points += r->name ? 1 : pieces(r->addr, r->bytes);
	}
	if (!*out || ret == -ENOMEM)
		return -ENOMEM;
	if (ret)
		return uft_fail(err, ret,
				"cannot watch '%s': write NAME or ADDRESS, with ,BYTES or :w behind it if needed",
				watch[*n - 1]);
	if (points > ACCESS_MAX)		/* so there are no more than 32, for bits, either */
		return uft_fail(err, -E2BIG,
				"too much memory to watch: a CPU has %u debug registers, each for 1, 2, 4 or 8 bytes at a multiple of that",
				ACCESS_MAX);
	return 0;
}

int uft_watch_check(const char *const *watch, struct uft_error *err)
{
	struct access_range *range;
	uint32_t n;
	int ret = access_parse(watch, &range, &n, err);

	access_free(range, n);
	return ret;
}

int access_is_same(const struct access_range *a, uint32_t na, const struct access_range *b, uint32_t nb)
{
	if (na != nb)
		return 0;
	for (uint32_t i = 0; i < na; i++)
		if (a[i].addr != b[i].addr || a[i].bytes != b[i].bytes || a[i].is_write_only != b[i].is_write_only ||
		    !a[i].name != !b[i].name || (a[i].name && strcmp(a[i].name, b[i].name)))
			return 0;
	return 1;
}

/* Where the variable is; the program's own before a library's. 0: nowhere yet. */
static uint64_t find_variable(const struct space *space, const char *name, uint64_t *size)
{
	for (uint32_t i = 0; i < space->img->nobj; i++) {
		const struct uft_mapped *m = &space->img->obj[i];
		uint64_t at = m->to_clock ? 0 : uft_object_symbol(m->obj, name, size);

		if (at)
			return at + m->bias;
	}
	return 0;
}

uint32_t access_points(const struct space *space, const struct access_range *range, uint32_t n, uint32_t wanted,
		       struct access_point out[ACCESS_MAX], uint32_t count, uint32_t *missing, uint32_t *wrong)
{
	*missing = *wrong = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t size = 0, at = range[i].name ? find_variable(space, range[i].name, &size) : range[i].addr,
			 piece;
		uint64_t bytes = range[i].bytes ? range[i].bytes : size ? size : 8;

		if (!(wanted & 1u << i))
			continue;
		if (!at) {
			*missing |= 1u << i;
		} else if (count + pieces(at, bytes) > ACCESS_MAX) {
			*wrong |= 1u << i;
		} else {
			for (; bytes; at += piece, bytes -= piece) {
				piece = first_piece(at, bytes);
				out[count++] = (struct access_point){ at, (uint8_t)piece, (uint8_t)i,
					range[i].is_write_only != 0 };
			}
		}
	}
	return count;
}
