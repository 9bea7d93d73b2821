#pragma once

// Searches in JSON text for the parser. Where the processor has vectors, they take 16 bytes at a time. Each search has
// a portable twin. No search reads beyond `end`.

#include "json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#define HAS_VECTORS 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

#define INLINE static inline __attribute__((always_inline))
#define OUTLINE static __attribute__((noinline))

enum { vector_size = 16 };

#if defined(__SSE2__)
typedef __m128i vector;
// A mask of a vector has this many bits for each byte, all set or all clear.
enum { mask_bits = 1 };

INLINE vector load_vector(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }
INLINE void store_vector(uint8_t *bytes, vector value) { _mm_storeu_si128((__m128i *)bytes, value); }
INLINE vector equals(vector bytes, uint8_t byte) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)); }
INLINE vector are_same(vector left, vector right) { return _mm_cmpeq_epi8(left, right); }
INLINE vector either(vector left, vector right) { return _mm_or_si128(left, right); }
// Bytes beyond ASCII are negative, so one comparison finds them and control characters.
INLINE vector are_below_space(vector bytes) { return _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)); }
INLINE uint64_t mask(vector bytes) { return (uint32_t)_mm_movemask_epi8(bytes); }
#elif HAS_VECTORS
typedef uint8x16_t vector;
enum { mask_bits = 4 };

INLINE vector load_vector(const uint8_t *bytes) { return vld1q_u8(bytes); }
INLINE void store_vector(uint8_t *bytes, vector value) { vst1q_u8(bytes, value); }
INLINE vector equals(vector bytes, uint8_t byte) { return vceqq_u8(bytes, vdupq_n_u8(byte)); }
INLINE vector are_same(vector left, vector right) { return vceqq_u8(left, right); }
INLINE vector either(vector left, vector right) { return vorrq_u8(left, right); }
INLINE vector are_below_space(vector bytes) { return vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(0x20)); }
INLINE uint64_t mask(vector bytes) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4)), 0);
}
#endif

// Eight copies of a byte.
#define EIGHT(byte) (0x0101010101010101u * (uint64_t)(byte))

// Returns the next eight bytes, the first of them in the lowest bits.
INLINE uint64_t ordered_word(const uint8_t *bytes) {
    uint64_t word = clarkspur_json_word(bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

INLINE size_t remaining(const uint8_t *at, const uint8_t *end) { return (size_t)(end - at); }

INLINE bool is_plain(uint8_t byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }
INLINE bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

// Returns the address of the first byte that is not plain text, or `end`.
INLINE const uint8_t *portable_plain_end(const uint8_t *at, const uint8_t *end) {
    while (remaining(at, end) >= 8) {
        // Each term of `found` sets the top bit of each byte that the term looks for. The borrow of a subtraction can
        // also set the top bit of the next higher byte, although that byte is plain. But a borrow begins only at a byte
        // that is not plain. So the lowest set bit always marks such a byte.
        uint64_t word = ordered_word(at);
        uint64_t quotes = word ^ EIGHT('"'), backslashes = word ^ EIGHT('\\');
        uint64_t found = ((quotes - EIGHT(1)) & ~quotes) | ((backslashes - EIGHT(1)) & ~backslashes)
            | ((word - EIGHT(0x20)) & ~word) | word;
        uint64_t stops = found & EIGHT(0x80);
        if (stops != 0) { return at + (__builtin_ctzll(stops) >> 3); }
        at += 8;
    }
    while (at < end && is_plain(*at)) { at++; }
    return at;
}

INLINE const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
#if HAS_VECTORS
    while (remaining(at, end) >= vector_size) {
        vector bytes = load_vector(at);
        uint64_t stops = mask(either(either(equals(bytes, '"'), equals(bytes, '\\')), are_below_space(bytes)));
        if (stops != 0) { return at + __builtin_ctzll(stops) / mask_bits; }
        at += vector_size;
    }
#endif
    return portable_plain_end(at, end);
}

// Returns the address of the first byte that is not white space, or `end`.
INLINE const uint8_t *portable_space_end(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_space(*at)) { at++; }
    return at;
}

INLINE const uint8_t *space_end(const uint8_t *at, const uint8_t *end) {
#if HAS_VECTORS
    const uint64_t all = mask_bits == 4 ? UINT64_MAX : 0xFFFF;
    while (remaining(at, end) >= vector_size) {
        vector bytes = load_vector(at);
        uint64_t spaces = mask(either(either(equals(bytes, ' '), equals(bytes, '\n')),
            either(equals(bytes, '\r'), equals(bytes, '\t'))));
        if (spaces != all) { return at + __builtin_ctzll(~spaces) / mask_bits; }
        at += vector_size;
    }
#endif
    return portable_space_end(at, end);
}

// Returns whether a key follows: a text that was found earlier, and a quotation mark. The text is before `at`.
INLINE bool key_follows(const uint8_t *at, const uint8_t *end, const uint8_t *text, size_t count) {
    if (remaining(at, end) <= count || at[count] != '"') { return false; }
#if HAS_VECTORS
    if (count <= vector_size && remaining(at, end) >= vector_size) {
        uint64_t different = ~mask(are_same(load_vector(at), load_vector(text)));
        return count == 0 || different << (64 - mask_bits * count) == 0;
    }
#endif
    return clarkspur_json_are_equal(at, text, count);
}

// Returns the value of eight digits.
INLINE uint64_t eight_digits(uint64_t digits) {
    digits = (digits & EIGHT(0x0F)) * (10 * 256 + 1) >> 8;
    digits = (digits & 0x00FF00FF00FF00FFu) * (100 * 65536 + 1) >> 16;
    return (digits & 0x0000FFFF0000FFFFu) * (10000 * 4294967296 + 1) >> 32;
}

// Appends the digits at the address to a decimal number, which may overflow, and returns the address behind them.
INLINE const uint8_t *digits_end(const uint8_t *at, const uint8_t *end, uint64_t *value) {
    static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    while (remaining(at, end) >= 8) {
        uint64_t digits = ordered_word(at) ^ EIGHT('0');
        // The top bit of a byte is set if the byte is above 9. A carry disturbs only bytes behind the first such byte.
        uint64_t others = ((digits + EIGHT(0x76)) | digits) & EIGHT(0x80);
        if (others != 0) {
            unsigned bits = (unsigned)__builtin_ctzll(others) & ~7u;
            if (bits == 0) { return at; }
            *value = *value * powers[bits >> 3] + eight_digits(digits << (64 - bits));
            return at + (bits >> 3);
        }
        *value = *value * 100000000 + eight_digits(digits);
        at += 8;
    }
    for (uint8_t digit; at < end && (digit = (uint8_t)(*at - '0')) <= 9; at++) { *value = *value * 10 + digit; }
    return at;
}
