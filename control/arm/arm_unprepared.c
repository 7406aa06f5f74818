// SPDX-License-Identifier: MIT
/*
 * arm_unprepared.c - arming functions without compiler support: their code and their sites are sent to a target
 */
#include "control/arm/arm.h"
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

/* Known before it can be taken. */
static int note_trap(struct uft_session *s, const struct target *t, uint32_t object, const struct uft_code *c)
{
	uint64_t at = t->obj[object].code_base + (uint64_t)c->stub * UFT_CODE_STRIDE;

	return c->is_trap ? s->int3->note(s, c->addr, at, c->orig[0]) : 0;
}

uint64_t unprepared_copy_of(const struct target *t, uint32_t object, uint32_t stub, uint64_t pc)
{
	struct uft_code code;
	uint64_t i;

	if (make_code(t, object, stub, &code))
		return 0;
	i = pc - code.addr - 1;
	return i < sizeof(code.map) && code.map[i] ? t->obj[object].code_base + (uint64_t)stub * UFT_CODE_STRIDE + code.map[i] : 0;
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
	return i + UFT_LEN_JMP <= e->known && uft_insn_is_jmp(now + i) ? uft_insn_branch_target(now + i, UFT_LEN_JMP, at + i) : 0;
}

/* Sends the code of those in index[] that the target does not have; what it refuses is taken out. */
static int send_code(struct uft_session *s, struct target *t, uint32_t object, uint32_t *index, uint32_t *n, int force)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct uft_code *code = (struct uft_code *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	const uint16_t *state = t->obj[object].state;
	uint32_t ncode = 0, kept = 0, at = 0;
	int ret;

	for (uint32_t i = 0; i < *n; i++) {
		if (state[index[i]] != WANT_NOT && !force)
			index[kept++] = index[i];
		else if (!(ret = make_code(t, object, index[i], &code[ncode])) && !(ret = note_trap(s, t, object, &code[ncode])))
			index[kept++] = code[ncode++].stub;
		else
			s->counters[ret == -ERANGE ? UFT_CNT_SITE_REACH : UFT_CNT_SITE_REFUSED]++;
	}
	*n = kept;
	if (!ncode)
		return 0;
	*c = (struct uft_cmd){ .op = UFT_CMD_CODE, .n = ncode, .object = object };
	ret = command_post(s, t);
	if (!ret)
		ret = command_wait(s, t);
	if (ret)
		return ret;
	kept = 0;
	for (uint32_t i = 0; i < *n; i++) {
		if (at < ncode && (state[index[i]] == WANT_NOT || force) && code[at++].status != UFT_ST_OK)
			continue;
		index[kept++] = index[i];
	}
	*n = kept;
	return 0;
}

static struct uft_patch make_patch(const struct target *t, uint32_t object, uint32_t stub, uint16_t state)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	const struct entry *e = unprepared_entry(&t->space->obj[object], stub - m->obj->nsite);

	return (struct uft_patch){
		.addr = e->addr + m->bias, .stub = stub, .kind_len = UFT_KIND_LEN(UFT_SITE_CODE, entry_len(m->obj, e)),
		.state = WANT_STATE(state), .action = WANT_ACTION(state),
	};
}

static int send_part(struct uft_session *s, struct target *t, uint32_t object, uint32_t *index, uint32_t n, int force)
{
	const struct space_obj *o = &t->space->obj[object];
	const uint16_t *state = t->obj[object].state;
	struct uft_patch *p;
	int ret = send_code(s, t, object, index, &n, force);

	if (ret || !n)
		return ret;
	p = malloc(n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		p[i] = make_patch(t, object, index[i], site_next_state(o->want[index[i]], state[index[i]], 1));
	ret = command_patch_list(s, t, object, p, index, n);
	free(p);
	return ret;
}

int unprepared_patch(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	const struct space_obj *o = &t->space->obj[object];
	uint32_t max = (uint32_t)((s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD) / sizeof(struct uft_code)), n = 0, *index;
	uint32_t first = (uint32_t)t->space->img->obj[object].obj->nsite;
	int ret = 0;

	if (!o->plain || !o->want)
		return 0;
	index = malloc(unprepared_count(o) * sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (uint32_t i = first; !ret && i < first + unprepared_count(o); i++) {
		if (site_next_state(o->want[i], t->obj[object].state[i], force) == WANT_NOT)
			continue;
		if (!t->obj[object].is_sent)
			ret = command_object(s, t, object);
		if (unprepared_entry(o, i - first)->is_trap && !ret && !(s->int3 && s->int3->may_arm(s, t)))
			continue;
		index[n++] = i;
		if (n == max && !ret) {
			ret = send_part(s, t, object, index, n, force);
			n = 0;
		}
	}
	if (n && !ret)
		ret = send_part(s, t, object, index, n, force);
	free(index);
	return ret;
}
