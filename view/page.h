/* SPDX-License-Identifier: MIT */
/* page.h - the built page (web/), as bytes; made by web/embed.sh */
#ifndef UFT_VIEW_PAGE_H
#define UFT_VIEW_PAGE_H

#include <stddef.h>

struct view_page {
	const char *name, *type;
	const unsigned char *bytes;
	size_t n;
};
extern const struct view_page view_pages[]; /* ends with name NULL; it has no others if the page could not be built */

#endif
