#include "checksum.h"

#include <string.h>

// Odd, so that the multiplication loses no information.
static const uint64_t factor = 0x9FB21C651E98DF25u;
static const uint64_t starts[4] = {
    0x243F6A8885A308D3u, 0x13198A2E03707344u, 0xA4093822299F31D0u, 0x082EFA98EC4E6C89u,
};

static uint64_t load(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t rotate(uint64_t word, int count) { return word << count | word >> (64 - count); }

// Each step can be undone if the word is known, so no later step hides a difference.
static uint64_t absorb(uint64_t lane, uint64_t word) { return rotate((lane ^ word) * factor, 29); }

static uint64_t spread(uint64_t word) {
    word = (word ^ word >> 32) * factor;
    word = (word ^ word >> 29) * factor;
    return word ^ word >> 32;
}

uint64_t clarkspur_checksum(uint64_t seed, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    size_t left = count;
    uint64_t lanes[4];
    for (int i = 0; i < 4; i++) { lanes[i] = seed ^ starts[i]; }
    // Four independent lanes, because each step waits for the multiplication of the one before.
    for (; left >= 32; next += 32, left -= 32) {
        lanes[0] = absorb(lanes[0], load(next));
        lanes[1] = absorb(lanes[1], load(next + 8));
        lanes[2] = absorb(lanes[2], load(next + 16));
        lanes[3] = absorb(lanes[3], load(next + 24));
    }
    uint64_t sum = spread(seed ^ (uint64_t)count * factor);
    for (int i = 0; i < 4; i++) { sum = spread(sum ^ lanes[i]); }
    for (; left >= 8; next += 8, left -= 8) { sum = absorb(sum, load(next)); }
    uint8_t rest[8] = {0};
    if (left > 0) { memcpy(rest, next, left); }
    return spread(absorb(sum, load(rest)));
}
