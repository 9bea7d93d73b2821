#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Decoders over libpng, TurboJPEG and libwebp, and an encoder over libpng. As for libcurl, this module finds the functions
// at run time and declares the stable ABIs itself, so a build needs no headers of these libraries.

typedef enum {
    clarkspur_image_complete,
    // The library, or a function of it, was not found.
    clarkspur_image_missing,
    // The bytes are not an image that the library accepts.
    clarkspur_image_invalid,
    clarkspur_image_out_of_memory,
} clarkspur_image_outcome;

enum { clarkspur_image_problem_length = 200 };

// One decoding. The caller has read the sizes from the image's header and checked them against its limits. A decoder
// fails if the library finds another size.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    uint32_t source_width;
    uint32_t source_height;
    // At most the source's size, and at least 1 each.
    uint32_t width;
    uint32_t height;
    // Room for `width * height` pixels of four bytes: red, green, blue, alpha, not premultiplied.
    uint8_t *pixels;
    // The bytes may end within the image. The pixels, which the caller has zeroed, then show the part that can be decoded,
    // and the others stay transparent. A damaged part counts as the end. The outcome is complete if a pixel was decoded.
    bool is_preview;
    // The library's description of a failure.
    char problem[clarkspur_image_problem_length];
} clarkspur_image_decoding;

// The functions below may be called on any thread. An image that is made smaller is never whole in memory, apart from what
// the formats need: a progressive JPEG has its coefficients there, and a lossless WebP and an interlaced PNG their pixels.
bool clarkspur_png_is_found(void);
bool clarkspur_jpeg_is_found(void);
bool clarkspur_webp_is_found(void);
clarkspur_image_outcome clarkspur_png_decode(clarkspur_image_decoding *decoding);
clarkspur_image_outcome clarkspur_jpeg_decode(clarkspur_image_decoding *decoding);
clarkspur_image_outcome clarkspur_webp_decode(clarkspur_image_decoding *decoding);

// Writes pixels as a PNG. The caller releases `bytes` with `free`.
typedef struct {
    const uint8_t *pixels;
    uint32_t width;
    uint32_t height;
    uint8_t *bytes;
    size_t count;
    char problem[clarkspur_image_problem_length];
} clarkspur_image_encoding;

clarkspur_image_outcome clarkspur_png_encode(clarkspur_image_encoding *encoding);

// The sources of reports that memory is scarce.
typedef enum {
    // The kernel's stall information, of the system or of a control group: tasks wait for memory.
    clarkspur_memory_stalls,
    // A control group's events: a limit was reached. Reclaiming cached files may have been enough.
    clarkspur_memory_events,
} clarkspur_memory_source;

// Starts a thread that watches files and calls `notice` with each report, for as long as the process runs. The paths may be
// NULL: the stall information of the system and of the control group, and the group's events, which are watched only if the
// group's stalls cannot be. Returns false if no file can be watched.
bool clarkspur_watch_memory(const char *system_stalls, const char *group_stalls, const char *group_events,
    void (*notice)(clarkspur_memory_source));
