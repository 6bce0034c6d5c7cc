/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a tracepoint's record holds, for front ends that read records. */
#ifndef SCHEDTOP_RECORD_H
#define SCHEDTOP_RECORD_H

#include <linux/types.h>

#include "memory.h"

/* Bits of prev_state, include/trace/events/sched.h. */
#define REPORTED_RUNNING 0xff /* if none of these is set */
#define REPORTED_INTERRUPTIBLE 0x01
#define REPORTED_UNINTERRUPTIBLE 0x02
#define REPORTED_STOPPED 0x04
#define REPORTED_TRACED 0x08
#define REPORTED_DEAD (0x10 | 0x20)
#define REPORTED_PARKED 0x40
#define REPORTED_IDLE 0x80

/*
 * Copies a name, as two words. An offset of 0 stands for a name that the record does not hold as an array; then there
 * is none. Names are aligned to four bytes, and the verifier wants loads from the record to be aligned.
 */
#define HALF(ctx, offset) ((u64)FIELD(u32, ctx, offset) | (u64)FIELD(u32, ctx, (offset) + 4) << 32)
#define COPY_NAME(to, ctx, offset)                                                                                     \
	do {                                                                                                           \
		(to)[0] = (offset) ? HALF(ctx, offset) : 0;                                                            \
		(to)[1] = (offset) ? HALF(ctx, (offset) + 8) : 0;                                                      \
	} while (0)

#endif
