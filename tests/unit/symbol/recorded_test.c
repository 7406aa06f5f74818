/* SPDX-License-Identifier: MIT */
/* recorded_test.c - files that a recording names: which are opened, and how many */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/image.h"
#include "symbol/recorded.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static char file[] = "/tmp/uft-recorded-XXXXXX";

/* What a recording says of the file: @real's description, with another @bytes. */
static struct uft_object *describe(const char *path, const struct uft_object *real, int has_id, uint64_t bytes)
{
	struct uft_object *obj = uft_object_make(path, has_id ? real->build_id : NULL, has_id ? real->build_id_len : 0);

	CHECK(obj);
	obj->file_bytes = bytes;
	obj->mtime_ns = real->mtime_ns;
	return obj;
}

static int try(struct recorded_files *r, struct uft_object *obj)
{
	struct uft_object *real = NULL;
	int ret = recorded_open(r, obj, &real);

	CHECK(!ret == (real != NULL));
	if (real)
		uft_object_put(real);
	uft_object_put(obj);
	return ret;
}

int main(void)
{
	int fd = mkstemp(file), watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct recorded_files r = { 0 };
	struct uft_object *real, *other;
	char event[512], *self = realpath("/proc/self/exe", NULL);

	CHECK(fd >= 0 && watch >= 0 && self);
	CHECK(uft_object_open(self, &real, NULL) == 0 && write(fd, "text", 4) == 4);
	if (real->build_id_len) {
		CHECK(try(&r, describe(self, real, 1, 1)) == 0);
		other = describe(self, real, 1, real->file_bytes);
		other->build_id[0] ^= 1;
		CHECK(try(&r, other) == -ESTALE);
	}
	/* Of another size and without a build-id it is not even opened. */
	CHECK(inotify_add_watch(watch, file, IN_OPEN) >= 0);
	CHECK(try(&r, describe(file, real, 0, 3)) == -ESTALE);
	CHECK(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
	CHECK(try(&r, describe("/proc/self/status", real, 0, 0)) == -ESTALE);
	CHECK(try(&r, describe("/dev/null", real, 0, 0)) == -ENOENT);
	CHECK(try(&r, describe("relative", real, 0, 0)) == -ENOENT);
	while (r.misses < RECORDED_MAX_MISSES)
		CHECK(try(&r, describe("/nothing/at/all", real, 0, 0)) == -ENOENT);
	CHECK(try(&r, describe(self, real, 1, real->file_bytes)) == -EDQUOT);
	/* Names that are kept cost as well; the time begins with the first one. */
	r = (struct recorded_files){ .bytes = RECORDED_MAX_BYTES };
	CHECK(try(&r, describe(self, real, 1, real->file_bytes)) == -EDQUOT);
	r = (struct recorded_files){ .begin_ms = 1 };
	CHECK(try(&r, describe(self, real, 1, real->file_bytes)) == -EDQUOT);
	/* A file that others can change is copied. */
	CHECK(fchmod(fd, 0666) == 0 && ftruncate(fd, 4096) == 0);
	r = (struct recorded_files){ .bytes = RECORDED_MAX_BYTES - 4095 };
	CHECK(try(&r, describe(file, real, 1, 4096)) == -EDQUOT || !real->build_id_len);
	unlink(file);
	uft_object_put(real);
	free(self);
	return 0;
}
