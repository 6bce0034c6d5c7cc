/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Fields of a tracepoint's record, by their offsets, which are flags; a name is two words. */

#define FIELD(type, ctx, offset) (*(type *)((u64)(ctx) + (offset)))

/*
 * An offset of 0 stands for a name that the record does not hold as an array; then there is none. Names are aligned to
 * four bytes, and the verifier wants loads from the record to be aligned.
 */
#define HALF(ctx, offset) ((u64)FIELD(u32, ctx, offset) | (u64)FIELD(u32, ctx, (offset) + 4) << 32)
#define COPY_NAME(to, ctx, offset)                                                                                     \
	do {                                                                                                           \
		(to)[0] = (offset) ? HALF(ctx, offset) : 0;                                                            \
		(to)[1] = (offset) ? HALF(ctx, (offset) + 8) : 0;                                                      \
	} while (0)
