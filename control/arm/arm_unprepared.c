// SPDX-License-Identifier: MIT
/*
 * arm_unprepared.c - arm functions without compiler support: send their code and their sites to a target
 */
#include "control/arm/arm_sites.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "runtime/arch/x86_64/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_code(const struct target *t, uint32_t object, uint32_t stub, struct uft_code *out)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	int ret = entry_code(m->obj, unprepared_entry(&t->space->obj[object], stub - m->obj->nsite), m->bias,
			     t->obj[object].code_base + (uint64_t)stub * UFT_CODE_STRIDE, out);

	out->stub = stub;
	return ret;
}

/* Notes a site's int3, before it is written and can trap. 0 or -errno. */
static int note_trap(struct uft_session *s, const struct target *t, uint32_t object, const struct uft_code *c)
{
	return c->is_trap ? s->int3->note(s, t->slice, c, t->obj[object].code_base +
					  (uint64_t)c->stub * UFT_CODE_STRIDE) : 0;
}

uint64_t unprepared_copy_of(const struct target *t, uint32_t object, uint32_t stub, uint64_t pc)
{
	struct uft_code code;
	uint64_t i;

	if (make_code(t, object, stub, &code))
		return 0;
	i = pc - code.addr - 1;
	return i < sizeof(code.map) && code.map[i] ? t->obj[object].code_base + (uint64_t)stub * UFT_CODE_STRIDE +
		code.map[i] : 0;
}

uint64_t unprepared_pun_place(const struct target *t, uint32_t object, uint32_t stub)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	const struct entry *e;
	uint8_t now[UFT_PUN_KNOWN];
	uint64_t at;
	unsigned i = 0;

	if (stub < m->obj->nsite || stub - m->obj->nsite >= unprepared_count(&t->space->obj[object]))
		return 0;
	e = unprepared_entry(&t->space->obj[object], stub - m->obj->nsite);
	at = e->addr + m->bias;
	if (!e->pun || proc_read_memory(t->pid, at, now, e->known))
		return 0;
	while (i + 1 < e->pun && now[i] == UFT_PFX_CS)
		i++;
	return i + UFT_LEN_JMP <= e->known && uft_insn_is_jmp(now + i) ? uft_insn_branch_target(now + i, UFT_LEN_JMP,
		at + i) : 0;
}

int unprepared_may_arm(const struct site_diff *d, uint32_t stub)
{
	const struct entry *e = unprepared_entry(&d->t->space->obj[d->object], stub - d->nsite);

	return !e->is_trap || (d->s->int3 && d->s->int3->may_arm(d->s, d->t));
}

struct uft_patch unprepared_site(const struct site_diff *d, uint32_t stub)
{
	const struct uft_mapped *m = diff_mapped(d);
	const struct entry *e = unprepared_entry(&d->t->space->obj[d->object], stub - d->nsite);

	return (struct uft_patch){
		.addr = e->addr + m->bias, .stub = stub, .kind_len = UFT_KIND_LEN(UFT_SITE_CODE, entry_len(m->obj, e)),
		.state = WANT_STATE(d->next[stub]), .action = WANT_ACTION(d->next[stub]),
	};
}

uint32_t unprepared_list_max(const struct uft_session *s)
{
	return (uint32_t)((s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD) / sizeof(struct uft_code));
}

static int needs_code(const struct site_diff *d, uint32_t stub)
{
	return diff_state(d)[stub] == WANT_NOT || d->force;
}

/*
 * Makes in @code the code of those sites of a list for which the target has none, and removes sites for which none can
 * be made from the list. Returns the number of codes.
 */
static uint32_t make_codes(const struct site_diff *d, struct uft_patch *p, uint32_t *index, uint32_t *n,
			   struct uft_code *code)
{
	uint32_t ncode = 0, kept = 0;

	for (uint32_t i = 0; i < *n; i++) {
		int ret = needs_code(d, index[i]) ? make_code(d->t, d->object, index[i], &code[ncode]) : 1;

		if (!ret)
			ret = note_trap(d->s, d->t, d->object, &code[ncode]);
		if (ret < 0) {
			d->s->counters[ret == -ERANGE ? UFT_CNT_SITE_REACH : UFT_CNT_SITE_REFUSED]++;
			continue;
		}
		ncode += !ret;
		p[kept] = p[i];
		index[kept++] = index[i];
	}
	*n = kept;
	return ncode;
}

int unprepared_send_code(const struct site_diff *d, struct uft_patch *p, uint32_t *index, uint32_t *n)
{
	/* private memory: of the area that a target can write to, only statuses are read */
	struct uft_code *code = malloc(*n * sizeof(*code));
	struct uft_code uft_shared *answer;
	uint32_t ncode, kept = 0, at = 0;
	int ret = 0;

	if (!code)
		return -ENOMEM;
	ncode = make_codes(d, p, index, n, code);
	answer = (struct uft_code uft_shared *)channel_payload(
		command_begin(d->s, d->t, UFT_CMD_CODE, ncode, d->object));
	shared_write(answer, code, ncode * sizeof(*code));
	free(code);
	ret = ncode ? command_post(d->s, d->t) : 0;
	if (!ret && ncode)
		ret = command_wait(d->s, d->t);
	for (uint32_t i = 0; !ret && i < *n; i++) {
		if (needs_code(d, index[i]) && SHARED_LOAD(&answer[at++].status) != UFT_ST_OK)
			continue;
		p[kept] = p[i];
		index[kept++] = index[i];
	}
	*n = kept;
	return ret;
}
