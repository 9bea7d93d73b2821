#include "json_search.h"

// Returns the value of a hexadecimal digit.
static uint32_t digit_value(uint8_t digit) { return digit <= '9' ? digit - '0' : (digit | 0x20u) - 'a' + 10; }

// Returns the code unit of the four hexadecimal digits at `at`, and moves behind them; 0 if the text is too short.
static uint32_t code_unit(const uint8_t **at, const uint8_t *end) {
    if (remaining(*at, end) < 4) {
        *at = end;
        return 0;
    }
    uint32_t unit = 0;
    for (int count = 0; count < 4; count++, (*at)++) { unit = unit << 4 | (digit_value(**at) & 0xF); }
    return unit;
}

// Writes a Unicode scalar value in UTF-8, and returns the address behind it.
static uint8_t *write_scalar(uint8_t *output, uint32_t scalar) {
    if (scalar < 0x80) {
        *output++ = (uint8_t)scalar;
        return output;
    }
    if (scalar < 0x800) {
        *output++ = (uint8_t)(0xC0 | scalar >> 6);
    } else {
        if (scalar < 0x10000) {
            *output++ = (uint8_t)(0xE0 | scalar >> 12);
        } else {
            *output++ = (uint8_t)(0xF0 | scalar >> 18);
            *output++ = (uint8_t)(0x80 | (scalar >> 12 & 0x3F));
        }
        *output++ = (uint8_t)(0x80 | (scalar >> 6 & 0x3F));
    }
    *output++ = (uint8_t)(0x80 | (scalar & 0x3F));
    return output;
}

// Writes the character of an escape with a code unit, whose digits are at `at`. An escape of a pair has twelve bytes,
// and its character four.
OUTLINE uint8_t *write_unit_escape(const uint8_t **at, const uint8_t *end, uint8_t *output) {
    uint32_t scalar = code_unit(at, end);
    if ((scalar & 0xFC00) == 0xD800 && remaining(*at, end) >= 6) {
        *at += 2;
        scalar = 0x10000 + ((scalar & 0x3FF) << 10) + (code_unit(at, end) & 0x3FF);
    }
    return write_scalar(output, scalar);
}

static uint8_t escaped_byte(uint8_t letter) {
    switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;
    }
}

// Copies text up to the next backslash. The output has at least as much room as the text that remains, so a vector may
// be written of which only a part counts.
INLINE void copy_to_backslash(const uint8_t **at, const uint8_t *end, uint8_t **output, bool is_portable) {
#if HAS_VECTORS
    while (!is_portable && remaining(*at, end) >= vector_size) {
        vector bytes = load_vector(*at);
        store_vector(*output, bytes);
        uint64_t stops = mask(equals(bytes, '\\'));
        size_t count = stops != 0 ? (size_t)__builtin_ctzll(stops) / mask_bits : vector_size;
        *at += count;
        *output += count;
        if (stops != 0) { return; }
    }
#endif
    (void)is_portable;
    while (*at < end && **at != '\\') { *(*output)++ = *(*at)++; }
}

INLINE size_t unescape(const uint8_t *bytes, size_t count, uint8_t *output, bool is_portable) {
    const uint8_t *at = bytes, *end = bytes + count;
    uint8_t *target = output;
    for (;;) {
        copy_to_backslash(&at, end, &target, is_portable);
        if (remaining(at, end) < 2) { return (size_t)(target - output); }
        uint8_t letter = at[1];
        at += 2;
        if (letter == 'u') {
            target = write_unit_escape(&at, end, target);
        } else {
            *target++ = escaped_byte(letter);
        }
    }
}

size_t clarkspur_json_unescape(const uint8_t *bytes, size_t count, uint8_t *output) {
    return unescape(bytes, count, output, false);
}

size_t clarkspur_json_unescape_portable(const uint8_t *bytes, size_t count, uint8_t *output) {
    return unescape(bytes, count, output, true);
}
