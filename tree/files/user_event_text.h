/* SPDX-License-Identifier: MIT */
/*
 * user_event_text.h - descriptions of user_events: `NAME[ TYPE FIELD[ SIZE][;TYPE FIELD[ SIZE]]..]`
 */
#ifndef UFT_TREE_USER_EVENT_TEXT_H
#define UFT_TREE_USER_EVENT_TEXT_H

#include <stdint.h>

struct user_event_text {
	char *fields;		/* `TYPE FIELD[ SIZE]; ..`, as dynamic_events shows them; malloc'd */
	char *list, *print;	/* the lines `field:`, and what follows `print fmt: `; malloc'd */
	uint32_t bytes;		/* of a record's fixed part, behind the common fields */
};

/* Ends the name in @text. *args: what is behind its blank, or NULL. 0, -EINVAL: the name is empty or has flags. */
int user_event_split(char *text, char **args);
/* 0, -EINVAL, -ENOMEM. @out is to be freed if the result is 0. */
int user_event_parse(const char *args, struct user_event_text *out);
void user_event_text_free(struct user_event_text *t);
/* The text of its `format` file, malloc'd; NULL: no memory. */
char *user_event_format(const struct user_event_text *t, const char *name);
/*
 * Does @args describe the @fields of an event? As in the kernel, words are compared, also where other blanks or an
 * empty field would mean the same. 1, 0, -ENOMEM.
 */
int user_event_is_same(const char *fields, const char *args);

#endif
