/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SCHEDTOP_COMPILER_H
#define SCHEDTOP_COMPILER_H

#define __always_inline inline __attribute__((__always_inline__))

#endif
