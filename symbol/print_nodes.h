/* SPDX-License-Identifier: MIT */
/* print_nodes.h - a compiled print format: nodes, and their values in one event. Theory: print_format.c. */
#ifndef UFT_SYMBOL_PRINT_NODES_H
#define UFT_SYMBOL_PRINT_NODES_H

#include "symbol/print_format.h"

#define PRINT_MAX_ARGS	256u
#define PRINT_TEMP_BYTES	8192u		/* texts of helpers in one event */

enum print_node_kind {
	N_NUMBER, N_STRING, N_FIELD, N_NEG, N_NOT, N_INVERT, N_DEREF, N_BINARY, N_COND, N_CAST, N_INDEX, N_CALL,
	N_PAIR, N_COMMON,
};

enum print_helper {
	H_STR, H_DYN, H_DYN_LEN, H_SYMBOLIC, H_FLAGS, H_HEX, H_HEX_STR, H_ARRAY, H_DYN_ARRAY, H_BITMASK,
	H_SOCKADDR, H_HEX_DUMP, H_STACK, NHELPERS
};

enum print_op {
	OP_OROR = 1, OP_ANDAND, OP_OR, OP_XOR, OP_AND, OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OP_SHL, OP_SHR,
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD
};

struct print_node {
	uint8_t kind, helper, op, size, is_signed, is_pointer;
	uint32_t a, b, c;		/* nodes; CALL: first argument; PAIR, and arguments: b is the next; 0: none */
	int64_t number;
	const struct uft_event_field *field;
	char *text; size_t len;
};

struct uft_print {
	struct print_node *v;		/* v[0] is none */
	uint32_t n, cap;
	char *format; size_t nformat;
	uint32_t arg[PRINT_MAX_ARGS], nargs;
	int has_stack;			/* the text may have several lines */
};

struct print_value {
	int64_t number;
	const uint8_t *bytes;		/* NULL: it is a number */
	size_t len;
	uint32_t element;
	int is_signed;
};

struct print_run {
	const struct uft_print *p;
	const struct uft_print_input *in;
	char temp[PRINT_TEMP_BYTES];
	size_t ntemp;
};

struct print_text { char *p; size_t n, room; };

static inline struct print_value print_value_of(int64_t n)
{
	return (struct print_value){ .number = n, .is_signed = 1 };
}

/* ---- print_value.c ---- */

struct print_value print_eval(struct print_run *r, uint32_t at);
int64_t print_number(const struct print_value *v);
void print_put(struct print_text *t, const char *from, size_t n);	/* cut at the room of @t */
void print_pad(struct print_text *t, size_t n);				/* blanks, cut as well */

/* ---- print_address.c ---- */

/*
 * Writes the address in @v's bytes as text; @p: the suffix of %p, one of I4, I6, I6c, IS with p and c, M. Returns the
 * text's length, and in *used the bytes taken of @p; 0: @p or @v is no address.
 */
size_t print_address(const char *p, const struct print_value *v, char *to, size_t room, size_t *used);

#endif
