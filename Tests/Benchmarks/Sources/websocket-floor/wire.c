#include "wire.h"

#include <endian.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool wire_fill(wire *wire) {
    if (wire->start > 0) {
        memmove(wire->bytes, wire->bytes + wire->start, wire->end - wire->start);
        wire->end -= wire->start;
        wire->start = 0;
    }
    ssize_t count = read(wire->socket, wire->bytes + wire->end, sizeof wire->bytes - wire->end);
    if (count <= 0) return false;
    wire->end += (size_t)count;
    return true;
}

// Eight bytes at a time; the compiler makes wider steps of it.
static void mask(uint8_t *bytes, size_t count, const uint8_t key[4]) {
    uint64_t wide;
    memcpy(&wide, key, 4);
    memcpy((uint8_t *)&wide + 4, key, 4);
    size_t index = 0;
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, bytes + index, 8);
        word ^= wide;
        memcpy(bytes + index, &word, 8);
    }
    for (; index < count; index++) bytes[index] ^= key[index & 3];
}

bool wire_next(wire *wire, frame *frame) {
    uint8_t *bytes = wire->bytes + wire->start;
    size_t available = wire->end - wire->start, header = 2;
    if (available < header) return false;
    bool is_masked = bytes[1] & 0x80;
    uint64_t length = bytes[1] & 0x7f;
    if (length == 126) {
        if (available < (header = 4)) return false;
        length = (uint64_t)bytes[2] << 8 | bytes[3];
    } else if (length == 127) {
        if (available < (header = 10)) return false;
        memcpy(&length, bytes + 2, 8);
        length = be64toh(length);
    }
    size_t key = header;
    if (is_masked) header += 4;
    if (available < header || available - header < length) return false;
    *frame = (struct frame){.first = bytes[0], .payload = bytes + header, .length = length};
    if (is_masked) mask(frame->payload, length, bytes + key);
    wire->start += header + length;
    return true;
}

char *wire_head(wire *wire) {
    while (true) {
        uint8_t *start = wire->bytes + wire->start;
        uint8_t *end = memmem(start, wire->end - wire->start, "\r\n\r\n", 4);
        if (end) {
            end[2] = 0;
            wire->start += (size_t)(end + 4 - start);
            return (char *)start;
        }
        if (!wire_fill(wire)) return NULL;
    }
}

bool wire_write(wire *wire, const void *bytes, size_t count) {
    const uint8_t *rest = bytes;
    while (count > 0) {
        ssize_t written = send(wire->socket, rest, count, MSG_NOSIGNAL);
        if (written <= 0) return false;
        rest += written;
        count -= (size_t)written;
    }
    return true;
}

size_t frame_put(uint8_t *target, uint8_t first, const uint8_t *payload, size_t length, bool masks) {
    uint8_t *next = target;
    *next++ = first;
    uint8_t bit = masks ? 0x80 : 0;
    if (length < 126) {
        *next++ = bit | (uint8_t)length;
    } else if (length < 1 << 16) {
        *next++ = bit | 126;
        *next++ = (uint8_t)(length >> 8);
        *next++ = (uint8_t)length;
    } else {
        *next++ = bit | 127;
        uint64_t wide = htobe64(length);
        memcpy(next, &wide, 8);
        next += 8;
    }
    static _Thread_local uint32_t key = 2463534242;
    if (masks) {
        key ^= key << 13, key ^= key >> 17, key ^= key << 5;
        memcpy(next, &key, 4);
        next += 4;
    }
    memcpy(next, payload, length);
    if (masks) mask(next, length, (const uint8_t *)&key);
    return (size_t)(next - target) + length;
}
