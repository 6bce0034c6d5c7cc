/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Log-linear buckets: 8 an octave from 64 ns to 2^40 ns. schedtop/base/histogram.py computes the same. */
#ifndef SCHEDTOP_HISTOGRAM_H
#define SCHEDTOP_HISTOGRAM_H

#include <linux/compiler.h>
#include <linux/types.h>

#define FIRST_OCTAVE 6
#define LAST_OCTAVE 39
#define SUB_BITS 3
#define LATENCY_BUCKETS (((LAST_OCTAVE - FIRST_OCTAVE + 1) << SUB_BITS) + 2)

static __always_inline u32 latency_bucket(u64 ns)
{
	u64 rest = ns;
	u32 octave = 0;

	if (ns < (1ULL << FIRST_OCTAVE))
		return 0;
	if (ns >> (LAST_OCTAVE + 1))
		return LATENCY_BUCKETS - 1;
	/* Floor of the binary logarithm: BPF has no instruction that counts leading zeros. */
	if (rest >> 32) {
		octave += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		octave += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		octave += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		octave += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		octave += 2;
		rest >>= 2;
	}
	octave += rest >> 1;
	return ((octave - FIRST_OCTAVE) << SUB_BITS) + ((ns >> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1)) + 1;
}

#endif
