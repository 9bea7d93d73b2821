#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Parses JSON text by RFC 8259 to a tape: an array of nodes in the order of the text.
//
// An array is one node, followed by its elements. An object is two nodes, followed by a key node and a value for each
// member. The object's second node has the number of its shape, and is scratch space of the decoder.

// `JSONKind` has the same kinds in the same order.
typedef enum {
    clarkspur_json_null,
    clarkspur_json_no,
    clarkspur_json_yes,
    // An integer of at most 18 digits. The node has its value.
    clarkspur_json_integer,
    // A number with a fraction and at most 15 significant digits. The node has the nearest double.
    clarkspur_json_double,
    // Any other number. The node has the length of its text.
    clarkspur_json_number,
    // A string in ASCII without escapes.
    clarkspur_json_plain,
    // A string in UTF-8 without escapes, with at least one character beyond ASCII.
    clarkspur_json_unicode,
    // A string with escapes.
    clarkspur_json_escaped,
    clarkspur_json_array,
    clarkspur_json_object,
} clarkspur_json_kind;

// Bits of a node's `head`.
enum {
    // In an object: a key occurs twice. The caller of the parser sets this.
    clarkspur_json_has_duplicates = 1 << 8,
    // In an object: a key has escapes or characters beyond ASCII, so that keys with different bytes can be equal.
    clarkspur_json_has_unusual_keys = 1 << 9,
    // In a key: the same key occurs again in the object, and that value counts. The caller of the parser sets this.
    clarkspur_json_is_shadowed = 1 << 10,
};

typedef struct {
    // The kind in bits 0–7, flags in bits 8–15, the length of an integer or a double in bits 16–31, the offset in the
    // text in bits 32–63. In the second node of an object: the number of its shape in bits 32–63, or 0.
    uint64_t head;
    // For integers and doubles the value, for other numbers the length of the text. For strings the length in the low
    // half, and for keys a hash in the high half. For arrays and objects the index of the node behind the last content
    // in the low half, and the number of elements or members in the high half.
    uint64_t extra;
} clarkspur_json_node;

// The result of a call of the parser. All but the first three are faults of the text at `position`.
typedef enum {
    // The value is complete. The text behind it has not been read.
    clarkspur_json_ended,
    // The parser needs memory for more nodes. The next call continues.
    clarkspur_json_needs_nodes,
    // The object with the index `object` has ended, and some of its keys may be equal. The next call continues.
    clarkspur_json_may_repeat,
    clarkspur_json_expected_value,
    clarkspur_json_expected_true,
    clarkspur_json_expected_false,
    clarkspur_json_expected_null,
    clarkspur_json_expected_key,
    clarkspur_json_expected_colon,
    clarkspur_json_expected_member_end,
    clarkspur_json_expected_element_end,
    clarkspur_json_expected_digit,
    clarkspur_json_expected_fraction,
    clarkspur_json_expected_exponent,
    clarkspur_json_leading_zero,
    clarkspur_json_expected_quotation_mark,
    clarkspur_json_control_character,
    clarkspur_json_malformed_escape,
    clarkspur_json_expected_hexadecimal,
    clarkspur_json_lone_surrogate,
    clarkspur_json_malformed_utf8,
    clarkspur_json_too_deep,
} clarkspur_json_state;

// The number of shapes that the parser remembers.
enum { clarkspur_json_shape_count = 16 };

// An open array or object.
typedef struct {
    // The index of its node.
    uint32_t start;
    // The number of elements or members.
    uint32_t count;
    // The bits that the keys' hashes select. A key whose bit is not set yet is new.
    uint64_t tags;
    // The key of an earlier object that the next key probably equals, and the end of that object. All keys so far are
    // equal to those of that object. Both are 0 if there is no such object.
    uint32_t model_key;
    uint32_t model_end;
    // The number of that object's shape.
    uint32_t shape;
    bool is_object;
    bool may_repeat;
} clarkspur_json_frame;

// The text, and the progress of its parser. The text has less than four gigabytes.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    clarkspur_json_node *nodes;
    // The capacity is at least 64 nodes.
    size_t node_count, node_capacity;
    // Memory for one more frame than `maximum_depth`. The first frame stands for the document.
    clarkspur_json_frame *frames;
    // The nesting of arrays and objects.
    size_t depth, maximum_depth;
    // The object of the state `clarkspur_json_may_repeat`.
    size_t object;
    bool is_behind_value;
    uint32_t shape_count;
    // The last objects of different shapes, by the hash of the first key and the depth; 0 if there is none.
    uint32_t models[clarkspur_json_shape_count];
} clarkspur_json_parser;

// Parses a value with all its contents. Does not recurse, and does not read beyond the text.
//
// Objects without duplicate keys that have the same keys with the same bytes in the same order have the same shape.
// Most objects of a document have the shape of an earlier one, and then only need a comparison with its keys.
clarkspur_json_state clarkspur_json_parse(clarkspur_json_parser *parser);

// Writes a string's text without its escapes, and returns the number of written bytes. The text has been checked by the
// parser. The output has room for `count` bytes, and does not overlap the text.
size_t clarkspur_json_unescape(const uint8_t *bytes, size_t count, uint8_t *output);
// The same without vector instructions.
size_t clarkspur_json_unescape_portable(const uint8_t *bytes, size_t count, uint8_t *output);

// Returns the number of bytes before the first byte that is not plain text of a string: a quotation mark, a backslash,
// a control character or a byte beyond ASCII.
size_t clarkspur_json_plain_count(const uint8_t *bytes, size_t count);
// The same without vector instructions, for processors that have none, and for tests.
size_t clarkspur_json_plain_count_portable(const uint8_t *bytes, size_t count);
// Returns the number of bytes before the first byte that is not white space.
size_t clarkspur_json_space_count(const uint8_t *bytes, size_t count);
size_t clarkspur_json_space_count_portable(const uint8_t *bytes, size_t count);

static inline uint64_t clarkspur_json_word(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint32_t clarkspur_json_half(const uint8_t *bytes) {
    uint32_t half;
    memcpy(&half, bytes, sizeof half);
    return half;
}

// Returns a fast hash of a key. A server can choose keys with equal hashes, so a hash only saves comparisons: no
// structure depends on it.
static inline uint32_t clarkspur_json_hash(const uint8_t *bytes, size_t count) {
    uint64_t first = count, last = 0;
    if (count >= 8) {
        first = clarkspur_json_word(bytes);
        last = clarkspur_json_word(bytes + count - 8);
    } else if (count >= 4) {
        first = clarkspur_json_half(bytes);
        last = clarkspur_json_half(bytes + count - 4);
    } else if (count > 0) {
        first = (uint64_t)bytes[0] | (uint64_t)bytes[count >> 1] << 8;
        last = bytes[count - 1];
    }
    uint64_t mixed = first ^ last * 0x9E3779B97F4A7C15u ^ (uint64_t)count << 56;
    return (uint32_t)(mixed * 0xD6E8FEB86659FD93u >> 32);
}

// Returns whether two texts of the same length have the same bytes. For short texts, a call of `memcmp` would take most
// of the time.
static inline bool clarkspur_json_are_equal(const uint8_t *left, const uint8_t *right, size_t count) {
    if (count > 16) { return memcmp(left, right, count) == 0; }
    if (count >= 8) {
        return clarkspur_json_word(left) == clarkspur_json_word(right)
            && clarkspur_json_word(left + count - 8) == clarkspur_json_word(right + count - 8);
    }
    if (count >= 4) {
        return clarkspur_json_half(left) == clarkspur_json_half(right)
            && clarkspur_json_half(left + count - 4) == clarkspur_json_half(right + count - 4);
    }
    for (size_t index = 0; index < count; index++) {
        if (left[index] != right[index]) { return false; }
    }
    return true;
}
