#include "include/CLarkspurFleet.h"

#include <string.h>

enum {
    maximum_reply = 66 << 20,  // a value has at most 64 MiB
    maximum_parts = 1 << 16,
};

static const char too_long[] = "Protocol error, the reply is too long";
static const char no_number[] = "Protocol error, the length in the reply is no number";

// Notes that a part is complete. With the last part of an array, the array is complete.
static void end_part(clarkspur_reply_scan *scan) {
    while (scan->depth > 0) {
        if (--scan->left[scan->depth - 1] > 0) { return; }
        scan->depth--;
    }
    scan->bytes = scan->parts = 0;
}

// Reads the number of a line such as `$5`. Returns false if it is neither -1 nor a number without leading zeros.
static bool read_number(const clarkspur_reply_scan *scan, int64_t *number) {
    const char *digits = scan->line + 1;
    size_t count = scan->length - 3;  // without the type and the end of the line
    if (count == 2 && memcmp(digits, "-1", 2) == 0) {
        *number = -1;
        return true;
    }
    if (count == 0 || count > 18 || (count > 1 && digits[0] == '0')) { return false; }
    *number = 0;
    for (size_t index = 0; index < count; index++) {
        if (digits[index] < '0' || digits[index] > '9') { return false; }
        *number = *number * 10 + (digits[index] - '0');
    }
    return true;
}

static const char *end_line(clarkspur_reply_scan *scan) {
    const char type = scan->line[0];
    int64_t number = 0;
    if ((type == '$' || type == '*') && (scan->length > sizeof scan->line || !read_number(scan, &number))) {
        return no_number;
    }
    scan->length = 0;
    if (++scan->parts > maximum_parts || (type == '*' && number > maximum_parts)) {
        return "Protocol error, the reply has too many parts";
    }
    if (type == '$' && number >= 0) {
        scan->rest = (size_t)number + 2;
        return number > maximum_reply ? too_long : NULL;
    }
    if (type != '*' || number <= 0) {
        end_part(scan);
        return NULL;
    }
    if (scan->depth == clarkspur_maximum_depth) { return "Protocol error, arrays are nested too deeply"; }
    scan->left[scan->depth++] = number;
    return NULL;
}

const char *clarkspur_scan_replies(clarkspur_reply_scan *scan, const char *bytes, size_t count) {
    static const char types[] = {'+', '-', ':', '$', '*'};
    const char *problem = NULL;
    for (size_t index = 0; index < count && !problem;) {
        if (scan->rest > 0) {
            size_t taken = count - index < scan->rest ? count - index : scan->rest;
            index += taken;
            scan->bytes += taken;
            scan->rest -= taken;
            if (scan->rest == 0) { end_part(scan); }
        } else {
            const char byte = bytes[index++];
            if (scan->length == 0 && !memchr(types, byte, sizeof types)) {
                return "Protocol error, the reply is of an unknown type";
            }
            if (scan->length < sizeof scan->line) { scan->line[scan->length] = byte; }
            scan->length++;
            scan->bytes++;
            if (byte == '\n' && scan->last == '\r') { problem = end_line(scan); }
            scan->last = byte;
        }
        if (scan->bytes > maximum_reply) { problem = too_long; }
    }
    return problem;
}
