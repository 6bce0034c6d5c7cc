/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* bcc brings its own copy of this file, already included when it asks for this one. */
