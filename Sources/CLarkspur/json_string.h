#pragma once

// Parses strings of JSON text.

#include "json_search.h"

INLINE uint8_t byte_at(const uint8_t *at, const uint8_t *end) { return at < end ? *at : 0; }

// The end of a string, or a fault in it.
typedef struct {
    const uint8_t *at;
    // The kind of the string's node, or a state below 0.
    int64_t kind;
} string_end;

INLINE string_end string_fault(const uint8_t *at, clarkspur_json_state state) {
    return (string_end){at, -(int64_t)state};
}

// Parses four hexadecimal digits. Returns false at the first byte that is none.
OUTLINE bool hexadecimal(const uint8_t **at, const uint8_t *end, uint32_t *unit) {
    *unit = 0;
    for (int count = 0; count < 4; count++, (*at)++) {
        uint8_t byte = byte_at(*at, end), letter = (uint8_t)((byte | 0x20) - 'a'), digit = (uint8_t)(byte - '0');
        if (letter >= 6 && digit >= 10) { return false; }
        *unit = *unit << 4 | (letter < 6 ? letter + 10u : digit);
    }
    return true;
}

// Parses an escape of a code unit, whose backslash is at `start`. Returns a state below 0 after a fault.
OUTLINE string_end unit_escape(const uint8_t *start, const uint8_t *end) {
    const uint8_t *at = start + 2;
    uint32_t first, second;
    if (!hexadecimal(&at, end, &first)) { return string_fault(at, clarkspur_json_expected_hexadecimal); }
    if ((first & 0xF800) != 0xD800) { return (string_end){at, 0}; }
    // The first unit of a surrogate pair needs a second one.
    if ((first & 0xFC00) == 0xD800 && byte_at(at, end) == '\\') {
        at++;
        if (byte_at(at, end) == 'u') {
            at++;
            if (!hexadecimal(&at, end, &second)) { return string_fault(at, clarkspur_json_expected_hexadecimal); }
            if ((second & 0xFC00) == 0xDC00) { return (string_end){at, 0}; }
        }
    }
    return string_fault(at == end ? end : start, clarkspur_json_lone_surrogate);
}

// Parses an escape, whose backslash is at `start`. Returns a state below 0 after a fault.
INLINE string_end escape(const uint8_t *start, const uint8_t *end) {
    const uint8_t *at = start + 1;
    switch (byte_at(at, end)) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return (string_end){at + 1, 0};
    case 'u': return unit_escape(start, end);
    default: return string_fault(at, clarkspur_json_malformed_escape);
    }
}

// Returns the number of bytes of the character beyond ASCII at the address, or 0 if it is not valid UTF-8 (RFC 3629: no
// overlong forms, no surrogates, at most U+10FFFF).
INLINE size_t unicode_count(const uint8_t *at, const uint8_t *end) {
    size_t count = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (at[0] < 0xC2 || at[0] > 0xF4 || remaining(at, end) < count) { return 0; }
    for (size_t index = 1; index < count; index++) {
        if ((at[index] & 0xC0) != 0x80) { return 0; }
    }
    if (at[0] == 0xE0 && at[1] < 0xA0) { return 0; }
    if (at[0] == 0xED && at[1] > 0x9F) { return 0; }
    if (at[0] == 0xF0 && at[1] < 0x90) { return 0; }
    if (at[0] == 0xF4 && at[1] > 0x8F) { return 0; }
    return count;
}

// Returns the fault of bytes that are not UTF-8: at the string's quotation mark, or at the end of the text if the text
// ends within a character.
OUTLINE string_end malformed_utf8(const uint8_t *start, const uint8_t *at, const uint8_t *end) {
    while (at < end && *at >= 0x80) { at++; }
    return at < end
        ? string_fault(start - 1, clarkspur_json_malformed_utf8)
        : string_fault(end, clarkspur_json_expected_quotation_mark);
}

// Parses the rest of a string whose text begins at `start`. All bytes before `at` are plain text.
OUTLINE string_end rest_of_string(const uint8_t *start, const uint8_t *at, const uint8_t *end) {
    int64_t kind = clarkspur_json_plain;
    for (; at < end; at = plain_end(at, end)) {
        if (*at == '"') { return (string_end){at, kind}; }
        if (*at == '\\') {
            string_end result = escape(at, end);
            if (result.kind < 0) { return result; }
            kind = clarkspur_json_escaped;
            at = result.at;
        } else if (*at >= 0x80) {
            if (kind == clarkspur_json_plain) { kind = clarkspur_json_unicode; }
            do {
                size_t count = unicode_count(at, end);
                if (count == 0) { return malformed_utf8(start, at, end); }
                at += count;
            } while (at < end && *at >= 0x80);
        } else {
            return string_fault(at, clarkspur_json_control_character);
        }
    }
    return string_fault(at, clarkspur_json_expected_quotation_mark);
}

// Parses a string from its text on. The result's address is that of the closing quotation mark.
INLINE string_end parse_text(const uint8_t *start, const uint8_t *end) {
    const uint8_t *at = plain_end(start, end);
    if (at < end && *at == '"') { return (string_end){at, clarkspur_json_plain}; }
    return rest_of_string(start, at, end);
}
