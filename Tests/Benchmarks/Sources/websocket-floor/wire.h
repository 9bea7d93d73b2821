#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A connected socket with its unread bytes. Its functions block, and return false once the peer
// is gone.
typedef struct wire {
    int socket;
    size_t start, end;
    uint8_t bytes[1 << 18];
} wire;

// A frame among the bytes of a wire. The payload is unmasked in place.
typedef struct frame {
    uint8_t first;
    uint8_t *payload;
    size_t length;
} frame;

static const uint8_t opcode_binary = 2, opcode_close = 8, is_final = 0x80;

// Reads more bytes; those that were not consumed are moved to the front.
bool wire_fill(wire *wire);
// Takes the next frame if all of it was read.
bool wire_next(wire *wire, frame *frame);
// Takes a head that ends with an empty line, as a string without that line.
char *wire_head(wire *wire);
bool wire_write(wire *wire, const void *bytes, size_t count);

// Writes a frame's header and payload, and returns its size. A masked frame gets a mask of its own.
size_t frame_put(uint8_t *target, uint8_t first, const uint8_t *payload, size_t length, bool masks);
// The greatest size of a header.
static const size_t header_limit = 14;

// Serves WebSockets on the loopback interface until the standard input ends.
int serve(void);
// Runs one of the clients' scenarios and prints a line of figures.
int run_client(const char *scenario, int port, size_t size, long count);
