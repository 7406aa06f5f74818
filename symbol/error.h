/* SPDX-License-Identifier: MIT */
/*
 * error.h - one clear sentence for the user, beside the negative errno for the caller
 *
 * Library functions return 0 or a negative errno. Where a user has to read the error, they also take a struct uft_error
 * and fill it with a sentence that names the input and the remedy. NULL: the caller does not want the text. Context:
 * control.
 */
#ifndef UFT_SYMBOL_ERROR_H
#define UFT_SYMBOL_ERROR_H

struct uft_error {
	char text[600];
};

/* Fills @err (if any) and returns @code, so that `return uft_fail(err, -EINVAL, "...")` reads well. */
int uft_fail(struct uft_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
