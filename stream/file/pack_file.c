/* SPDX-License-Identifier: MIT */
/*
 * pack_file.c - see pack_file.h
 *
 * One pass over the blocks, as the reader makes it. Blocks keep their number and order, so that damage of the result
 * costs as much as damage of the recording. Blocks of unknown types are copied.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stream/file/pack_file.h"
#include "stream/file/reader.h"

struct packer {
	struct rd_file *f;
	struct uft_pack *result;
	FILE *out;
	uint8_t *raw, *again;		/* UFT_BLOCK_MAX */
};

static int put(struct packer *p, const void *from, size_t n)
{
	p->result->packed += n;
	return fwrite(from, 1, n, p->out) == n ? 0 : errno ? -errno : -EIO;
}

static int put_block(struct packer *p, struct uft_file_block *head, const uint8_t *payload)
{
	static const uint64_t zero;
	int ret;

	head->payload_sum = wire_sum(payload, head->stored);
	head->head_sum = wire_sum(head, offsetof(struct uft_file_block, head_sum));
	ret = put(p, head, sizeof(*head));
	if (!ret)
		ret = put(p, payload, head->stored);
	return ret ? ret : put(p, &zero, -head->stored & 7);
}

static void mark_packed(struct uft_file_header *h)
{
	h->version = UFT_FILE_PACKED;
	h->head_sum = wire_sum(h, offsetof(struct uft_file_header, head_sum));
}

/* Packs a RING block, whose bytes are in p->raw, into the reader's buffer. Returns the packed bytes; 0: not shorter. */
static size_t pack_payload(struct packer *p, const struct uft_file_block *head)
{
	struct rd_file *f = p->f;
	const uint8_t *packed;
	size_t n = pack_encode(f->pack, p->raw, head->raw, head->stored, &packed);

	if (!n)
		return 0;
	memcpy(f->stored, packed, n);
	if (pack_decode(f->pack, f->stored, n, p->again, head->raw) || memcmp(p->again, p->raw, head->raw))
		return 0;
	return n;
}

/* Returns 1 if the payload is damaged; 0; a negative errno. */
static int copy_block(struct packer *p, struct uft_file_block *head, uint64_t at)
{
	struct rd_block b = {
		.offset = at + sizeof(*head), .payload_sum = head->payload_sum, .stored = head->stored,
		.raw = head->raw, .flags = head->flags,
	};
	struct rd_file *f = p->f;
	size_t n;

	if (head->type == UFT_BLOCK_RING && !(head->flags & UFT_BLOCK_PACKED)) {
		if (rd_load(f, &b, p->raw))
			return 1;
		n = pack_payload(p, head);
		if (n) {
			head->flags = (uint16_t)((head->flags & ~UFT_BLOCK_ZSTD) | UFT_BLOCK_PACKED);
			head->stored = (uint32_t)n;
			return put_block(p, head, f->stored);
		}
	}
	if (wire_read_at(f->fd, f->stored, head->stored, b.offset) ||
	    wire_sum(f->stored, head->stored) != head->payload_sum)
		return 1;
	if (head->type == UFT_BLOCK_SETUP && !head->flags && head->stored == sizeof(f->head)) {
		struct uft_file_header setup;

		memcpy(&setup, f->stored, sizeof(setup));
		mark_packed(&setup);
		memcpy(f->stored, &setup, sizeof(setup));
	}
	return put_block(p, head, f->stored);
}

static int copy_blocks(struct packer *p)
{
	struct uft_file_header first = p->f->head;
	uint64_t at = sizeof(first), size = p->f->size;
	struct uft_file_block head;
	int ret;

	mark_packed(&first);
	ret = put(p, &first, sizeof(first));
	while (!ret && at < size) {
		uint64_t next;

		p->result->done = at;
		if (p->result->is_ended && p->result->is_ended())
			return -EINTR; /* GUARD(pack_is_ended) */
		if (size - at < sizeof(head) || wire_read_at(p->f->fd, &head, sizeof(head), at)) {
			p->result->damaged += size - at;
			break;
		}
		if (!rd_head_ok(&head) || size - at - sizeof(head) < head.stored) {
			next = rd_resync(p->f, at + 1);
			p->result->damaged += next - at;
			at = next;
			continue;
		}
		next = at + sizeof(head) + head.stored;
		ret = copy_block(p, &head, at);
		if (ret == 1) {
			p->result->damaged += next - at;
			ret = 0;
		}
		at = next + (-next & 7);
	}
	p->result->done = size;
	return ret;
}

/* Can the recording @f be packed? A recording that is still written would be packed in part only. */
static int check_input(const char *path, const struct rd_file *f, const struct uft_pack *pack, struct uft_error *err)
{
	if (pack->is_in_place && !f->is_complete && !f->is_rescued)
		return uft_fail(
			err, -EBUSY,
			"%s has no end: its recorder is still running or was killed (-o FILE packs what is there)",
			path);
	if (pack->is_in_place && pack->damaged)
		return uft_fail(err, -EBADMSG,
				"%s has %" PRIu64 " damaged bytes, which cannot be packed (-o FILE packs the rest)",
				path,
				pack->damaged);
	return 0;
}

static int check_unchanged(const char *path, const struct rd_file *f, int is_in_place, struct uft_error *err)
{
	struct stat st, now;

	if (fstat(f->fd, &st) || (uint64_t)st.st_size != f->size || rd_mtime_ns(&st) != f->mtime_ns)
		return uft_fail(err, -EAGAIN, "%s was written to meanwhile: pack it when its recorder has ended", path);
	/* A recorder moves what it finds to another name: the result would take the place of its new recording. */
	/* GUARD(pack_place) */
	if (is_in_place && (stat(path, &now) || now.st_dev != st.st_dev || now.st_ino != st.st_ino))
		return uft_fail(err, -EAGAIN,
				"another file has taken the place of %s meanwhile, and stays (try again, or give -o FILE)",
				path);
	return 0;
}

static int pack_open_file(struct packer *p, const char *path, struct uft_error *err)
{
	int ret = check_input(path, p->f, p->result, err);

	p->raw = malloc(UFT_BLOCK_MAX);
	p->again = malloc(UFT_BLOCK_MAX);
	if (!p->f->pack)
		p->f->pack = pack_new();
	if (!ret && (!p->raw || !p->again || !p->f->pack))
		ret = uft_fail(err, -ENOMEM, "out of memory");
	p->result->bytes = p->f->size;
	errno = 0;
	if (!ret)
		ret = copy_blocks(p);
	if (!ret)
		ret = check_unchanged(path, p->f, p->result->is_in_place, err); /* GUARD(pack_unchanged, 0) */
	if (!ret)
		ret = check_input(path, p->f, p->result, err);
	free(p->raw);
	free(p->again);
	return ret;
}

int uft_pack_file(const char *path, FILE *out, struct uft_pack *pack, struct uft_error *err)
{
	struct packer p = { .out = out, .result = pack };
	int ret = rd_open(path, NULL, &p.f, err);

	if (ret)
		return ret;
	if (p.f->is_imported)
		ret = uft_fail(err, -EINVAL, "%s is a trace.dat file: only .uft recordings can be packed", path);
	else
		ret = pack_open_file(&p, path, err);
	rd_close(p.f);
	return ret;
}
