/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Capture on kernels with BTF: typed raw tracepoints, see scheduler/btf.c. */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../task_struct.h"
#include "capture.h"
#ifdef TELLS_PATH
#include "path.h"
#endif

#define TID(task) FIELD(u32, task, TASK_TID_OFFSET)
#define PRIO(task) FIELD(s32, task, TASK_PRIO_OFFSET)

static __always_inline void tell_task(struct ring *ring, u64 task)
{
	u64 comm[2] = { FIELD(u64, task, TASK_COMM_OFFSET), FIELD(u64, task, TASK_COMM_OFFSET + 8) };

	tell_name(ring, TID(task), FIELD(u32, task, TASK_TGID_OFFSET), comm);
}

int btf_sched_switch(u64 *ctx)
{
	struct ring ring = {};
	u64 prev = ctx[1], next = ctx[2];
	u32 state, left = 0;

	if (!open_ring(&ring))
		return 0;
#ifdef SWITCH_HAS_STATE
	state = ctx[3];
#else
	state = FIELD(u32, prev, TASK_STATE_OFFSET);
#endif
	state &= ~STATE_PREEMPTED;
	/* What became of the task is then in exit_state. */
	if (state & STATE_DEAD)
		state |= FIELD(u32, prev, TASK_EXIT_STATE_OFFSET);
	if ((bool)ctx[0])
		state |= STATE_PREEMPTED;
	tell_task(&ring, prev);
	tell_task(&ring, next);
#ifdef TELLS_PATH
	left = path_leaves(&ring, prev, TID(prev), !state || state & STATE_PREEMPTED);
	path_comes(&ring, next, TID(next));
#endif
	add_switch(&ring, TID(prev), TID(next), state, PRIO(prev), PRIO(next), left);
	close_ring(&ring);
	return 0;
}

int btf_sched_waking(u64 *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 0;
	add_wakeup(&ring, CAPTURE_WAKING, TID(ctx[0]), PRIO(ctx[0]), FIELD(u32, ctx[0], TASK_CPU_OFFSET));
#ifdef TELLS_PATH
	path_wakes(&ring, ctx, ctx[0], TID(ctx[0]));
#endif
	close_ring(&ring);
	return 0;
}

int btf_sched_wakeup_new(u64 *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 0;
	add_wakeup(&ring, CAPTURE_WAKEUP_NEW, TID(ctx[0]), PRIO(ctx[0]), FIELD(u32, ctx[0], TASK_CPU_OFFSET));
	close_ring(&ring);
	return 0;
}

int btf_sched_migrate_task(u64 *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 0;
#ifdef TELLS_PATH
	path_moves(&ring, ctx[0], TID(ctx[0]));
#endif
	add_migration(&ring, TID(ctx[0]), PRIO(ctx[0]), FIELD(u32, ctx[0], TASK_CPU_OFFSET), ctx[1]);
	close_ring(&ring);
	return 0;
}

#ifdef HAVE_ITER_TASK
int iter_task(u64 *ctx)
{
	u64 task = ctx[1];

	if (task)
		note_running(task, TID(task), PRIO(task), FIELD(u32, task, TASK_CPU_OFFSET));
	return 0;
}
#endif
