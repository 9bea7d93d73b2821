#include "json.h"

#include "json_string.h"

// Nodes that one value and the key behind it need at most.
enum { nodes_of_step = 4 };

// The parser's progress in local variables: few enough for the compiler to keep them in registers.
typedef struct {
    clarkspur_json_parser *parser;
    // The next byte. After a fault, the byte of the fault.
    const uint8_t *at, *end;
    // The memory of the next node.
    clarkspur_json_node *next;
    // The innermost open array or object. At depth 0 it is the first frame, which stands for the document.
    clarkspur_json_frame *frame;
} cursor;

// No state: parsing continues, behind a value or before the first value of an array or object.
enum { behind_value = -1, before_value = -2 };

INLINE int fault(cursor *self, const uint8_t *at, clarkspur_json_state state) {
    self->at = at;
    return (int)state;
}

INLINE void append(cursor *self, uint64_t kind, const uint8_t *at, uint64_t extra) {
    self->next->head = kind | (uint64_t)(at - self->parser->bytes) << 32;
    self->next->extra = extra;
    self->next++;
}

OUTLINE const uint8_t *long_space_end(const uint8_t *at, const uint8_t *end) { return space_end(at, end); }

// Skips white space, of which there is usually none or one space. Returns the next byte, or 0 at the end of the text.
INLINE uint8_t next_byte(cursor *self) {
    if (self->at == self->end) { return 0; }
    uint8_t byte = *self->at;
    if (byte > ' ') { return byte; }
    if (byte == ' ' && remaining(self->at, self->end) > 1) {
        byte = *++self->at;
        if (byte > ' ') { return byte; }
    }
    self->at = long_space_end(self->at, self->end);
    return byte_at(self->at, self->end);
}

INLINE size_t depth(const cursor *self) { return (size_t)(self->frame - self->parser->frames); }

INLINE uint32_t node_index(const cursor *self) { return (uint32_t)(self->next - self->parser->nodes); }

INLINE int string(cursor *self) {
    const uint8_t *start = self->at + 1;
    string_end text = parse_text(start, self->end);
    if (text.kind < 0) { return fault(self, text.at, (clarkspur_json_state)-text.kind); }
    append(self, (uint64_t)text.kind, start, (uint64_t)(text.at - start));
    self->at = text.at + 1;
    return behind_value;
}

// Parses the exponent of a number, whose letter is at `at`.
OUTLINE string_end exponent(const uint8_t *at, const uint8_t *end) {
    uint64_t value = 0;
    at++;
    uint8_t sign = byte_at(at, end);
    if (sign == '-' || sign == '+') { at++; }
    const uint8_t *digits = at;
    at = digits_end(at, end, &value);
    return at > digits ? (string_end){at, 0} : string_fault(at, clarkspur_json_expected_exponent);
}

// Appends the node of a number that is not an integer of at most 18 digits.
INLINE void append_fraction(cursor *self, const uint8_t *start, uint64_t magnitude, size_t fraction, bool is_exact) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
        1e16, 1e17, 1e18};
    uint64_t length = (uint64_t)(self->at - start);
    if (!is_exact || magnitude >= 1000000000000000) {
        append(self, clarkspur_json_number, start, length);
        return;
    }
    // The magnitude and the power of ten are exact, so their quotient is the double nearest to the number.
    double value = (double)magnitude / powers[fraction];
    if (*start == '-') { value = -value; }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append(self, clarkspur_json_double | length << 16, start, bits);
}

INLINE int number(cursor *self) {
    const uint8_t *start = self->at, *end = self->end;
    bool is_negative = *start == '-';
    const uint8_t *digits = start + is_negative;
    uint64_t magnitude = 0;
    const uint8_t *at = digits_end(digits, end, &magnitude);
    size_t whole = (size_t)(at - digits), fraction = 0;
    if (whole == 0) { return fault(self, at, clarkspur_json_expected_digit); }
    if (whole > 1 && *digits == '0') { return fault(self, digits, clarkspur_json_leading_zero); }
    if (byte_at(at, end) == '.') {
        const uint8_t *point = at + 1;
        at = digits_end(point, end, &magnitude);
        fraction = (size_t)(at - point);
        if (fraction == 0) { return fault(self, at, clarkspur_json_expected_fraction); }
    }
    // With more than 18 digits, `magnitude` may have overflowed.
    bool is_exact = whole + fraction <= 18;
    if ((byte_at(at, end) | 0x20) == 'e') {
        string_end result = exponent(at, end);
        if (result.kind < 0) { return fault(self, result.at, (clarkspur_json_state)-result.kind); }
        at = result.at;
        is_exact = false;
    } else if (is_exact && fraction == 0 && (magnitude != 0 || !is_negative)) {
        uint64_t length = (uint64_t)(at - start);
        append(self, clarkspur_json_integer | length << 16, start, is_negative ? 0 - magnitude : magnitude);
        self->at = at;
        return behind_value;
    }
    self->at = at;
    append_fraction(self, start, magnitude, fraction, is_exact);
    return behind_value;
}

// Returns the address of the first byte that differs from a word.
OUTLINE const uint8_t *word_fault(const uint8_t *at, const uint8_t *end, const char *text) {
    for (; byte_at(at, end) == (uint8_t)*text; text++) { at++; }
    return at;
}

// Parses a word, of which the first byte has been compared.
INLINE int word(cursor *self, const char *text, size_t length, clarkspur_json_kind kind, clarkspur_json_state state) {
    const uint8_t *last = self->at + length - 4;
    if (remaining(self->at, self->end) < length || memcmp(last, text + length - 4, 4) != 0) {
        return fault(self, word_fault(self->at, self->end, text), state);
    }
    append(self, kind, self->at, 0);
    self->at += length;
    return behind_value;
}

// Returns the place of the shape of an object with this first key. The depth keeps the shapes of an object and of
// objects in it apart.
INLINE uint32_t *model_place(const cursor *self, uint64_t first_key_extra) {
    return &self->parser->models[((first_key_extra >> 32) + depth(self)) % clarkspur_json_shape_count];
}

// Returns the index of the node behind a value.
INLINE uint32_t index_after(const clarkspur_json_node *nodes, uint32_t value) {
    return (nodes[value].head & 0xFF) >= clarkspur_json_array ? (uint32_t)nodes[value].extra : value + 1;
}

// Selects the earlier object whose keys those of this object are compared with. The first key has been appended.
INLINE void select_model(cursor *self) {
    const clarkspur_json_node *nodes = self->parser->nodes, *key = self->next - 1;
    uint32_t model = *model_place(self, key->extra);
    if (model == 0 || nodes[model + 2].extra != key->extra) { return; }
    const uint8_t *bytes = self->parser->bytes;
    size_t length = (uint32_t)key->extra;
    if (!clarkspur_json_are_equal(bytes + (nodes[model + 2].head >> 32), bytes + (key->head >> 32), length)) { return; }
    self->frame->model_end = (uint32_t)nodes[model].extra;
    self->frame->model_key = index_after(nodes, model + 3);
    self->frame->shape = (uint32_t)(nodes[model + 1].head >> 32);
}

// Notes the hash of a key, to find duplicates.
INLINE void note_key(clarkspur_json_frame *frame, const clarkspur_json_node *key) {
    uint64_t tag = (uint64_t)1 << (key->extra >> 32 & 63);
    if (frame->tags & tag || (key->head & 0xFF) != clarkspur_json_plain) { frame->may_repeat = true; }
    frame->tags |= tag;
}

// Gives up the comparison with an earlier object, at a key that differs. Notes the keys before it.
OUTLINE void leave_model(clarkspur_json_frame *frame, const clarkspur_json_node *nodes, uint32_t end) {
    frame->model_key = frame->model_end = 0;
    for (uint32_t key = frame->start + 2; key < end; key = index_after(nodes, key + 1)) {
        note_key(frame, nodes + key);
    }
}

// Parses a key that equals the expected key of an earlier object. Returns false if it differs.
INLINE bool expected_key(cursor *self) {
    clarkspur_json_frame *frame = self->frame;
    if (frame->model_key == 0) { return false; }
    const clarkspur_json_node *model = self->parser->nodes + frame->model_key;
    const uint8_t *start = self->at + 1, *text = self->parser->bytes + (model->head >> 32);
    size_t length = (uint32_t)model->extra;
    if (frame->model_key < frame->model_end && key_follows(start, self->end, text, length)) {
        append(self, model->head & 0xFF, start, model->extra);
        self->at = start + length + 1;
        frame->model_key = index_after(self->parser->nodes, frame->model_key + 1);
        return true;
    }
    leave_model(frame, self->parser->nodes, node_index(self));
    return false;
}

// Parses a key that no earlier object predicts.
INLINE int other_key(cursor *self) {
    clarkspur_json_frame *frame = self->frame;
    const uint8_t *start = self->at + 1;
    string_end text = parse_text(start, self->end);
    if (text.kind < 0) { return fault(self, text.at, (clarkspur_json_state)-text.kind); }
    size_t length = (size_t)(text.at - start);
    append(self, (uint64_t)text.kind, start, (uint64_t)clarkspur_json_hash(start, length) << 32 | length);
    self->at = text.at + 1;
    if (frame->count == 0) { select_model(self); }
    if (frame->model_key == 0) { note_key(frame, self->next - 1); }
    return before_value;
}

// Parses a key and its colon.
INLINE int key(cursor *self) {
    if (next_byte(self) != '"') { return clarkspur_json_expected_key; }
    if (!expected_key(self)) {
        int state = other_key(self);
        if (state != before_value) { return state; }
    }
    if ((self->next[-1].head & 0xFF) != clarkspur_json_plain) {
        self->parser->nodes[self->frame->start].head |= clarkspur_json_has_unusual_keys;
    }
    if (next_byte(self) != ':') { return clarkspur_json_expected_colon; }
    self->at++;
    return before_value;
}

// Opens an array or an object, and parses an object's first key.
INLINE int open_container(cursor *self, bool is_object) {
    if (depth(self) >= self->parser->maximum_depth) { return clarkspur_json_too_deep; }
    uint32_t start = node_index(self);
    append(self, is_object ? clarkspur_json_object : clarkspur_json_array, self->at, 0);
    if (is_object) { append(self, clarkspur_json_null, self->parser->bytes, 0); }
    self->at++;
    if (next_byte(self) == (is_object ? '}' : ']')) {
        self->at++;
        self->parser->nodes[start].extra = node_index(self);
        return behind_value;
    }
    *++self->frame = (clarkspur_json_frame){.start = start, .is_object = is_object};
    return is_object ? key(self) : before_value;
}

INLINE int value(cursor *self) {
    uint8_t byte = next_byte(self);
    // Most values are strings.
    if (byte == '"') { return string(self); }
    switch (byte) {
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return number(self);
    case '{': return open_container(self, true);
    case '[': return open_container(self, false);
    case 't': return word(self, "true", 4, clarkspur_json_yes, clarkspur_json_expected_true);
    case 'f': return word(self, "false", 5, clarkspur_json_no, clarkspur_json_expected_false);
    case 'n': return word(self, "null", 4, clarkspur_json_null, clarkspur_json_expected_null);
    default: return clarkspur_json_expected_value;
    }
}

// Makes an object without duplicate keys the model of later ones.
INLINE void add_model(clarkspur_json_parser *parser, uint32_t *place, uint32_t object) {
    *place = object;
    parser->nodes[object + 1].head |= (uint64_t)++parser->shape_count << 32;
}

// Ends an object: gives it a shape, or lets the caller look for duplicate keys.
INLINE int close_object(cursor *self) {
    clarkspur_json_frame *frame = self->frame;
    clarkspur_json_node *nodes = self->parser->nodes;
    if (frame->model_key != 0) {
        if (frame->model_key == frame->model_end) {
            nodes[frame->start + 1].head |= (uint64_t)frame->shape << 32;
            return behind_value;
        }
        // The object has only the first keys of the other one.
        leave_model(frame, nodes, node_index(self));
    }
    if (frame->may_repeat && frame->count > 1) {
        self->parser->object = frame->start;
        return clarkspur_json_may_repeat;
    }
    add_model(self->parser, model_place(self, nodes[frame->start + 2].extra), frame->start);
    return behind_value;
}

// Closes arrays and objects whose end follows, up to one in which another value follows.
INLINE int close_ended(cursor *self) {
    while (self->frame != self->parser->frames) {
        clarkspur_json_frame *frame = self->frame;
        frame->count++;
        uint8_t byte = next_byte(self);
        if (byte == ',') {
            self->at++;
            return frame->is_object ? key(self) : before_value;
        }
        if (byte != (frame->is_object ? '}' : ']')) {
            return frame->is_object ? clarkspur_json_expected_member_end : clarkspur_json_expected_element_end;
        }
        self->at++;
        self->parser->nodes[frame->start].extra = (uint64_t)frame->count << 32 | node_index(self);
        int state = frame->is_object ? close_object(self) : behind_value;
        self->frame--;
        if (state != behind_value) { return state; }
    }
    return clarkspur_json_ended;
}

// Continues behind an object whose keys the caller has compared.
INLINE int resume(cursor *self) {
    clarkspur_json_parser *parser = self->parser;
    const clarkspur_json_node *object = parser->nodes + parser->object;
    // The place of the shape is that at the depth of the object.
    self->frame++;
    uint32_t *place = model_place(self, object[2].extra);
    self->frame--;
    if (!(object->head & clarkspur_json_has_duplicates)) { add_model(parser, place, (uint32_t)parser->object); }
    return close_ended(self);
}

clarkspur_json_state clarkspur_json_parse(clarkspur_json_parser *parser) {
    cursor self = {
        .parser = parser,
        .at = parser->bytes + parser->position,
        .end = parser->bytes + parser->count,
        .next = parser->nodes + parser->node_count,
        .frame = parser->frames + parser->depth,
    };
    const clarkspur_json_node *last = parser->nodes + parser->node_capacity - nodes_of_step;
    int state = parser->is_behind_value ? resume(&self) : before_value;
    while (state == before_value) {
        if (self.next > last) {
            state = clarkspur_json_needs_nodes;
        } else {
            state = value(&self);
            if (state == behind_value) { state = close_ended(&self); }
        }
    }
    parser->is_behind_value = state == clarkspur_json_may_repeat;
    parser->position = (size_t)(self.at - parser->bytes);
    parser->node_count = (size_t)(self.next - parser->nodes);
    parser->depth = depth(&self);
    return (clarkspur_json_state)state;
}

size_t clarkspur_json_plain_count(const uint8_t *bytes, size_t count) {
    return (size_t)(plain_end(bytes, bytes + count) - bytes);
}

size_t clarkspur_json_plain_count_portable(const uint8_t *bytes, size_t count) {
    return (size_t)(portable_plain_end(bytes, bytes + count) - bytes);
}

size_t clarkspur_json_space_count(const uint8_t *bytes, size_t count) {
    return (size_t)(space_end(bytes, bytes + count) - bytes);
}

size_t clarkspur_json_space_count_portable(const uint8_t *bytes, size_t count) {
    return (size_t)(portable_space_end(bytes, bytes + count) - bytes);
}
