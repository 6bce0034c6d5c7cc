/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Capture on kernels without BTF: perf tracepoints, see scheduler/tracepoint.c. All programs return 1, as
 * there.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../record.h"
#include "capture.h"

int tracepoint_sched_switch(void *ctx)
{
	struct ring ring = {};
	u32 prev = FIELD(u32, ctx, SWITCH_PREV_PID_FIELD);
	u64 comm[2];

	if (!open_ring(&ring))
		return 1;
	/* Only of the task that leaves is it known here which process it is of. */
	COPY_NAME(comm, ctx, SWITCH_PREV_COMM_FIELD);
	tell_name(&ring, prev, bpf_get_current_pid_tgid() >> 32, comm);
	add_switch(&ring, prev, FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD), FIELD(u32, ctx, SWITCH_PREV_STATE_FIELD),
		   FIELD(s32, ctx, SWITCH_PREV_PRIO_FIELD), FIELD(s32, ctx, SWITCH_NEXT_PRIO_FIELD), 0);
	close_ring(&ring);
	return 1;
}

#ifdef HAVE_SCHED_WAKING
int tracepoint_sched_waking(void *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 1;
	add_wakeup(&ring, CAPTURE_WAKING, FIELD(u32, ctx, WAKING_PID_FIELD), FIELD(s32, ctx, WAKING_PRIO_FIELD),
		   FIELD(u32, ctx, WAKING_TARGET_CPU_FIELD));
	close_ring(&ring);
	return 1;
}
#endif

#ifdef HAVE_SCHED_WAKEUP_NEW
int tracepoint_sched_wakeup_new(void *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 1;
	add_wakeup(&ring, CAPTURE_WAKEUP_NEW, FIELD(u32, ctx, WAKEUP_NEW_PID_FIELD),
		   FIELD(s32, ctx, WAKEUP_NEW_PRIO_FIELD), FIELD(u32, ctx, WAKEUP_NEW_TARGET_CPU_FIELD));
	close_ring(&ring);
	return 1;
}
#endif

#ifdef HAVE_SCHED_MIGRATE_TASK
int tracepoint_sched_migrate_task(void *ctx)
{
	struct ring ring = {};

	if (!open_ring(&ring))
		return 1;
	add_migration(&ring, FIELD(u32, ctx, MIGRATE_PID_FIELD), FIELD(s32, ctx, MIGRATE_PRIO_FIELD),
		      FIELD(u32, ctx, MIGRATE_ORIG_CPU_FIELD), FIELD(u32, ctx, MIGRATE_DEST_CPU_FIELD));
	close_ring(&ring);
	return 1;
}
#endif
