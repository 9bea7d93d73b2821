#include "accept.h"

#include <stdint.h>
#include <string.h>

static uint32_t rotated(uint32_t word, int bits) { return word << bits | word >> (32 - bits); }

static void sha1_block(uint32_t state[5], const uint8_t block[64]) {
    uint32_t words[80];
    for (int i = 0; i < 16; i++) {
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8
            | block[4 * i + 3];
    }
    for (int i = 16; i < 80; i++) words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t sum = rotated(a, 5) + e + words[i];
        if (i < 20) sum += ((b & c) | (~b & d)) + 0x5a827999;
        else if (i < 40) sum += (b ^ c ^ d) + 0x6ed9eba1;
        else if (i < 60) sum += ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
        else sum += (b ^ c ^ d) + 0xca62c1d6;
        e = d, d = c, c = rotated(b, 30), b = a, a = sum;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void accept_key(const char *key, char accept[29]) {
    // The key and the fixed text are 60 bytes, so the padding needs a second block.
    uint8_t blocks[128] = {0};
    memcpy(blocks, key, 24);
    memcpy(blocks + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    blocks[60] = 0x80;
    blocks[126] = 480 >> 8;
    blocks[127] = 480 & 0xff;
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    sha1_block(state, blocks);
    sha1_block(state, blocks + 64);

    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t hash[21] = {0};
    for (int i = 0; i < 20; i++) hash[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 7; i++) {
        uint32_t group = (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];
        for (int j = 0; j < 4; j++) accept[4 * i + j] = digits[group >> (18 - 6 * j) & 63];
    }
    accept[27] = '=';
    accept[28] = 0;
}
