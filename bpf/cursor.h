/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* A place in a frame, from which one header after the other is pulled, each with one check of
 * bounds; of the frame itself or of a copy on a BPF stack. Pure. */
#ifndef WEIR_CURSOR_H
#define WEIR_CURSOR_H

#include <stdbool.h>

#include <linux/types.h>

#define PARSE_WINDOW 256 /* only so many bytes are ever looked at; a power of two */

#define PARSE_INLINE static inline __attribute__((always_inline))

enum parsed {
	PARSED_IP,
	PARSED_NOT_IP,
	PARSED_ARP,
	PARSED_OPAQUE, /* a tunnel that is not looked into */
	PARSED_MALFORMED,
	PARSED_SHORT /* parse again, from a copy of the frame's first PARSE_WINDOW bytes */
};

/* begin, end, frame_bytes and bytewise are the caller's to set. */
struct cursor {
	const __u8 *begin; /* the frame's first byte */
	const __u8 *end;   /* of what is readable here */
	__u32 frame_bytes;
	/* begin is on a BPF stack, where the verifier wants aligned loads; headers need not be. */
	bool bytewise;
	__u32 offset; /* of the next header */
	__u32 limit;  /* where the frame or the innermost length field says that the bytes end */
	enum parsed refusal; /* what it means that cursor_pull gave nothing */
};

/* A value the compiler knows nothing about: what is checked is then what is used, in the same
 * register, as the verifier must see it. Constants are better left alone. */
#ifdef __bpf__
#define parse_opaque(value)                         \
	({                                          \
		__typeof__(value) opaque = (value); \
		asm volatile("" : "+r"(opaque));    \
		opaque;                             \
	})
#else
#define parse_opaque(value) ((__typeof__(value))(value))
#endif

/* Leaves an offset below 4096 as it is, and the verifier without an idea of it: what comes after a
 * header that may begin at several places it then follows once, not once for each place. noise is
 * any byte of the frame. */
PARSE_INLINE __u32 parse_widen(__u32 offset, __u32 noise)
{
#ifdef __bpf__
	asm volatile("%0 ^= %1; %0 ^= %1; %0 &= 0xfff" : "+r"(offset) : "r"(noise));
#endif
	(void)noise;
	return offset;
}

/* Hands out the next header's first size bytes, or false and a refusal: truncated, beyond the
 * window (then the source is known by now and no more will be), or not readable here. */
PARSE_INLINE bool cursor_pull(struct cursor *cursor, __u32 size, const __u8 **ret_header)
{
	__u32 offset = cursor->offset;
	const __u8 *header;

	if (!__builtin_constant_p(offset))
		offset = parse_opaque(offset);
	cursor->refusal = PARSED_MALFORMED;
	if (offset + size > cursor->limit)
		return false;
	cursor->refusal = PARSED_IP;
	if (offset > PARSE_WINDOW - size)
		return false;
	header = parse_opaque(cursor->begin + offset);
	cursor->refusal = PARSED_SHORT;
	if (header + size > cursor->end)
		return false;
	cursor->offset = offset + size;
	*ret_header = header;
	return true;
}

/* In the loads below the barrier keeps clang from merging the two kinds into the slower. */
PARSE_INLINE __be16 cursor_be16(const struct cursor *cursor, const __u8 *field)
{
	__be16 value;

#ifdef __bpf__
	if (!cursor->bytewise)
		return *(const __be16 *)field;
#endif
	(void)cursor;
	__builtin_memcpy(&value, parse_opaque(field), sizeof(value));
	return value;
}

PARSE_INLINE __be32 cursor_be32(const struct cursor *cursor, const __u8 *field)
{
	__be32 value;

#ifdef __bpf__
	if (!cursor->bytewise)
		return *(const __be32 *)field;
#endif
	(void)cursor;
	__builtin_memcpy(&value, parse_opaque(field), sizeof(value));
	return value;
}

PARSE_INLINE __u16 parse_swap16(__u16 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(value);
#else
	return value;
#endif
}

PARSE_INLINE __u32 parse_swap32(__u32 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(value);
#else
	return value;
#endif
}

PARSE_INLINE __u16 cursor_u16(const struct cursor *cursor, const __u8 *field)
{
	return parse_swap16(cursor_be16(cursor, field));
}

#endif
