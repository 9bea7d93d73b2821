#include "CCodings.h"

#include <dlfcn.h>

// The stable ABIs of the libraries, declared here so that their headers need not be installed.

typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
} stream;

enum { finish = 4, stream_end = 1, level = 6, deflated = 8, memory = 8, zlib_format = 15, gzip_format = 31 };

static void *function(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : NULL;
}

#define BIND(name, library, result, parameters) \
    static result(*name) parameters; \
    if (!name) name = (result(*) parameters)function(library, #name); \
    if (!name) return 0

static size_t deflated_by_zlib(int format, const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(deflateInit2_, "libz.so.1", int, (stream *, int, int, int, int, int, const char *, int));
    BIND(deflate, "libz.so.1", int, (stream *, int));
    BIND(deflateEnd, "libz.so.1", int, (stream *));
    stream stream = {.next_in = input, .avail_in = (unsigned)count, .next_out = output, .avail_out = (unsigned)room};
    if (deflateInit2_(&stream, level, deflated, format, memory, 0, "1", sizeof stream) != 0) return 0;
    int status = deflate(&stream, finish);
    deflateEnd(&stream);
    return status == stream_end ? stream.total_out : 0;
}

static size_t inflated_by_zlib(int format, const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(inflateInit2_, "libz.so.1", int, (stream *, int, const char *, int));
    BIND(inflate, "libz.so.1", int, (stream *, int));
    BIND(inflateEnd, "libz.so.1", int, (stream *));
    stream stream = {.next_in = input, .avail_in = (unsigned)count, .next_out = output, .avail_out = (unsigned)room};
    if (inflateInit2_(&stream, format, "1", sizeof stream) != 0) return 0;
    int status = inflate(&stream, finish);
    inflateEnd(&stream);
    return status == stream_end ? stream.total_out : 0;
}

static size_t encoded_by_brotli(const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(BrotliEncoderCompress, "libbrotlienc.so.1", int, (int, int, int, size_t, const uint8_t *, size_t *, uint8_t *));
    return BrotliEncoderCompress(5, 22, 0, count, input, &room, output) ? room : 0;
}

static size_t decoded_by_brotli(const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(BrotliDecoderDecompress, "libbrotlidec.so.1", int, (size_t, const uint8_t *, size_t *, uint8_t *));
    return BrotliDecoderDecompress(count, input, &room, output) == 1 ? room : 0;
}

static size_t encoded_by_zstd(const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(ZSTD_compress, "libzstd.so.1", size_t, (void *, size_t, const void *, size_t, int));
    size_t made = ZSTD_compress(output, room, input, count, 3);
    return made <= room ? made : 0;
}

static size_t decoded_by_zstd(const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    BIND(ZSTD_decompress, "libzstd.so.1", size_t, (void *, size_t, const void *, size_t));
    size_t made = ZSTD_decompress(output, room, input, count);
    return made <= room ? made : 0;
}

size_t larkspur_encode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    switch (coding) {
    case larkspur_gzip: return deflated_by_zlib(gzip_format, input, count, output, room);
    case larkspur_deflate: return deflated_by_zlib(zlib_format, input, count, output, room);
    case larkspur_br: return encoded_by_brotli(input, count, output, room);
    case larkspur_zstd: return encoded_by_zstd(input, count, output, room);
    }
    return 0;
}

size_t larkspur_decode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    switch (coding) {
    case larkspur_gzip: return inflated_by_zlib(gzip_format, input, count, output, room);
    case larkspur_deflate: return inflated_by_zlib(zlib_format, input, count, output, room);
    case larkspur_br: return decoded_by_brotli(input, count, output, room);
    case larkspur_zstd: return decoded_by_zstd(input, count, output, room);
    }
    return 0;
}
