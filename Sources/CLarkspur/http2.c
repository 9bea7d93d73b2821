#define _GNU_SOURCE
#include "http2.h"

#include <stddef.h>

#if defined(__linux__) && defined(__LP64__)

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "curl.h"
#include "share.h"

// MARK: Declarations of nghttp2

// The members of nghttp2_frame_hd.
typedef struct {
    size_t length;
    int32_t stream;
    uint8_t type;
    uint8_t flags;
    uint8_t reserved;
} frame_head;

// The first members of nghttp2_goaway and nghttp2_rst_stream.
typedef struct {
    frame_head head;
    int32_t last_stream;
    uint32_t code;
} goaway;

typedef struct {
    frame_head head;
    uint32_t code;
} reset;

enum {
    NGHTTP2_DATA = 0,
    NGHTTP2_HEADERS = 1,
    NGHTTP2_RST_STREAM = 3,
    NGHTTP2_GOAWAY = 7,
    NGHTTP2_FLAG_PADDED = 8,
    NGHTTP2_PROTOCOL_ERROR = 1,
    NGHTTP2_FLOW_CONTROL_ERROR = 3,
    NGHTTP2_FRAME_SIZE_ERROR = 6,
    NGHTTP2_REFUSED_STREAM = 7,
    NGHTTP2_COMPRESSION_ERROR = 9,
    NGHTTP2_ENHANCE_YOUR_CALM = 11,
    NGHTTP2_HTTP_1_1_REQUIRED = 13,
    NGHTTP2_ERR_CALLBACK_FAILURE = -902,
};

typedef int (*stream_close_callback)(void *session, int32_t stream, uint32_t code, void *user_data);
typedef int (*data_callback)(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user_data);

#define FUNCTIONS(F) \
    F(nghttp2_session_callbacks_set_on_begin_frame_callback, void, \
        (void *, int (*)(void *, const frame_head *, void *))) \
    F(nghttp2_session_callbacks_set_before_frame_send_callback, void, \
        (void *, int (*)(void *, const frame_head *, void *))) \
    F(nghttp2_session_callbacks_set_on_data_chunk_recv_callback, void, (void *, data_callback)) \
    F(nghttp2_session_callbacks_set_on_stream_close_callback, void, (void *, stream_close_callback)) \
    F(nghttp2_session_get_stream_user_data, void *, (void *, int32_t)) \
    F(nghttp2_session_get_stream_remote_close, int, (void *, int32_t)) \
    F(nghttp2_session_terminate_session, int, (void *, uint32_t)) \
    F(nghttp2_session_mem_recv, ssize_t, (void *, const uint8_t *, size_t)) \
    F(nghttp2_session_mem_recv2, ssize_t, (void *, const uint8_t *, size_t)) \
    F(nghttp2_session_client_new, int, (void **, const void *, void *)) \
    F(nghttp2_session_client_new2, int, (void **, const void *, void *, const void *)) \
    F(nghttp2_session_client_new3, int, (void **, const void *, void *, const void *, void *))

#define MEMBER(name, result, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(MEMBER)
} nghttp2;

// MARK: Callbacks

static _Thread_local const clarkspur_http2_watcher *watcher;

const clarkspur_http2_watcher *clarkspur_http2_watch(const clarkspur_http2_watcher *given) {
    const clarkspur_http2_watcher *before = watcher;
    watcher = given;
    return before;
}

// Returns the number of bytes of a response that a frame carries for a request in flight. The length of the padding is
// not known yet. `on_data` counts the bytes of padded DATA; padded HEADERS count if they are longer than any padding.
static size_t progress_of(void *session, const frame_head *head) {
    bool is_padded = head->flags & NGHTTP2_FLAG_PADDED;
    if (head->type != NGHTTP2_HEADERS && (head->type != NGHTTP2_DATA || is_padded)) { return 0; }
    const size_t longest_padding = 256;
    size_t padding = is_padded ? longest_padding : 0;
    if (head->length <= padding) { return 0; }
    return nghttp2.nghttp2_session_get_stream_user_data(session, head->stream) ? head->length - padding : 0;
}

// Ends a session whose peer sends too much. With the returned code, libcurl's call to process received bytes fails, and
// libcurl closes the connection.
static int refuse(void *session) {
    nghttp2.nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// Tells the watcher if the peer gives up a stream before it has ended its side.
static void notice_reset(void *session, const frame_head *head) {
    if (!watcher || head->type != NGHTTP2_RST_STREAM) { return; }
    void *easy = nghttp2.nghttp2_session_get_stream_user_data(session, head->stream);
    if (easy && !clarkspur_http2_has_ended(session, head->stream)) { watcher->did_reset(watcher->context, easy); }
}

// libcurl's callback for bytes of a body. libcurl sets the same function in all sessions.
static _Atomic(data_callback) libcurl_did_receive;

// Tells the watcher about the bytes of padded DATA.
static int on_data(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user_data) {
    bool is_padded = flags & NGHTTP2_FLAG_PADDED;
    if (watcher && is_padded && count > 0 && nghttp2.nghttp2_session_get_stream_user_data(session, stream)) {
        watcher->did_progress(watcher->context, session, count);
    }
    data_callback callback = atomic_load_explicit(&libcurl_did_receive, memory_order_acquire);
    return callback ? callback(session, flags, stream, bytes, count, user_data) : 0;
}

static int on_begin_frame(void *session, const frame_head *head, void *user_data) {
    (void)user_data;
    notice_reset(session, head);
    clarkspur_share_count_frame();
    if (!watcher || watcher->may_receive(watcher->context, session, progress_of(session, head))) { return 0; }
    return refuse(session);
}

// Returns whether nghttp2 resets a stream with this code because the peer violated the protocol. libcurl cancels
// streams with other codes.
static bool is_fault(uint32_t code) {
    return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR || code == NGHTTP2_FRAME_SIZE_ERROR
        || code == NGHTTP2_COMPRESSION_ERROR;
}

static int before_frame_send(void *session, const frame_head *head, void *user_data) {
    (void)user_data;
    if (!watcher) { return 0; }
    void *easy;
    switch (head->type) {
    case NGHTTP2_HEADERS:
        easy = nghttp2.nghttp2_session_get_stream_user_data(session, head->stream);
        if (easy) { watcher->did_send_request(watcher->context, session, easy, head->stream); }
        break;
    case NGHTTP2_GOAWAY:
        if (((const goaway *)head)->code != 0) { watcher->did_fail(watcher->context, session); }
        break;
    case NGHTTP2_RST_STREAM:
        if (!is_fault(((const reset *)head)->code)) { break; }
        easy = nghttp2.nghttp2_session_get_stream_user_data(session, head->stream);
        if (easy) { watcher->did_fail_stream(watcher->context, easy); }
        break;
    default: break;
    }
    return 0;
}

// libcurl's callback for the end of a stream. libcurl sets the same function in all sessions.
static _Atomic(stream_close_callback) libcurl_did_close;

// Tells the watcher if the peer has not processed the request of a stream that ends. nghttp2 uses the code
// REFUSED_STREAM also for the streams that a GOAWAY frame excludes.
static int on_stream_close(void *session, int32_t stream, uint32_t code, void *user_data) {
    if (watcher && (code == NGHTTP2_REFUSED_STREAM || code == NGHTTP2_HTTP_1_1_REQUIRED)) {
        void *easy = nghttp2.nghttp2_session_get_stream_user_data(session, stream);
        if (easy) { watcher->did_refuse(watcher->context, easy); }
    }
    stream_close_callback callback = atomic_load_explicit(&libcurl_did_close, memory_order_acquire);
    return callback ? callback(session, stream, code, user_data) : 0;
}

bool clarkspur_http2_has_ended(void *session, int32_t stream) {
    // nghttp2 returns -1 for a stream that is already closed in both directions.
    return nghttp2.nghttp2_session_get_stream_remote_close(session, stream) != 0;
}

bool clarkspur_http2_is_half_closed(void *session, int32_t stream) {
    return nghttp2.nghttp2_session_get_stream_remote_close(session, stream) == 1;
}

// MARK: Replacements of nghttp2's functions

// Lets nghttp2 process received bytes, and reports a failure to the watcher. After some errors, such as a flood that
// nghttp2 detects, nghttp2 ends the session without sending a frame, so `before_frame_send` does not report them.
static ssize_t take(void *session, const uint8_t *bytes, size_t count, ssize_t (*function)(void *, const uint8_t *, size_t)) {
    if (!watcher) { return function(session, bytes, count); }
    if (!watcher->may_read(watcher->context, session, count)) { return refuse(session); }
    // nghttp2 does not report frames that it ignores, such as those of an unknown type. Bytes count for them.
    const size_t bytes_of_frame = 512;
    for (size_t left = count; left >= bytes_of_frame; left -= bytes_of_frame) { clarkspur_share_count_frame(); }
    ssize_t taken = function(session, bytes, count);
    if (taken < 0) { watcher->did_fail(watcher->context, session); }
    return taken;
}

static ssize_t mem_recv(void *session, const uint8_t *bytes, size_t count) {
    return take(session, bytes, count, nghttp2.nghttp2_session_mem_recv);
}

static ssize_t mem_recv2(void *session, const uint8_t *bytes, size_t count) {
    return take(session, bytes, count, nghttp2.nghttp2_session_mem_recv2);
}

static void add_callbacks(const void *callbacks) {
    if (!watcher) { return; }
    nghttp2.nghttp2_session_callbacks_set_on_begin_frame_callback((void *)callbacks, on_begin_frame);
    nghttp2.nghttp2_session_callbacks_set_before_frame_send_callback((void *)callbacks, before_frame_send);
}

static void set_on_stream_close_callback(void *callbacks, stream_close_callback callback) {
    atomic_store_explicit(&libcurl_did_close, callback, memory_order_release);
    nghttp2.nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

static void set_on_data_callback(void *callbacks, data_callback callback) {
    atomic_store_explicit(&libcurl_did_receive, callback, memory_order_release);
    nghttp2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
}

static int did_open(int code, void **session) {
    if (code == 0 && watcher) { watcher->did_open(watcher->context, *session); }
    return code;
}

static int client_new(void **session, const void *callbacks, void *user_data) {
    add_callbacks(callbacks);
    return did_open(nghttp2.nghttp2_session_client_new(session, callbacks, user_data), session);
}

static int client_new2(void **session, const void *callbacks, void *user_data, const void *option) {
    add_callbacks(callbacks);
    return did_open(nghttp2.nghttp2_session_client_new2(session, callbacks, user_data, option), session);
}

static int client_new3(void **session, const void *callbacks, void *user_data, const void *option, void *memory) {
    add_callbacks(callbacks);
    return did_open(nghttp2.nghttp2_session_client_new3(session, callbacks, user_data, option, memory), session);
}

// The library of a function that is replaced.
typedef enum { of_nghttp2, of_system, of_openssl, library_count } library;

static const struct {
    const char *name;
    void *function;
    library library;
} replacements[] = {
    {"nghttp2_session_callbacks_set_on_data_chunk_recv_callback", (void *)set_on_data_callback, of_nghttp2},
    {"nghttp2_session_callbacks_set_on_stream_close_callback", (void *)set_on_stream_close_callback, of_nghttp2},
    {"nghttp2_session_client_new", (void *)client_new, of_nghttp2},
    {"nghttp2_session_client_new2", (void *)client_new2, of_nghttp2},
    {"nghttp2_session_client_new3", (void *)client_new3, of_nghttp2},
    {"nghttp2_session_mem_recv", (void *)mem_recv, of_nghttp2},
    {"nghttp2_session_mem_recv2", (void *)mem_recv2, of_nghttp2},
    {"recv", (void *)clarkspur_share_receive, of_system},
    {"SSL_set_fd", (void *)clarkspur_share_set_descriptor, of_openssl},
};

// MARK: Replacing libcurl's pointers

// Replaces one pointer in a library's table of function pointers. The dynamic linker may have made the table read-only
// after filling it.
static bool write_pointer(void **place, void *value, bool is_read_only) {
    uintptr_t page = (uintptr_t)place & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    size_t size = (uintptr_t)(place + 1) - page;
    if (is_read_only && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0) { return false; }
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
    if (is_read_only) { mprotect((void *)page, size, PROT_READ); }
    return true;
}

typedef struct {
    uintptr_t base;
    bool has[library_count];  // whether the functions that the replacements call were found
    bool is_replaced;         // whether a function of nghttp2 was replaced
} search;

// The parts of a loaded library that say where its pointers to functions of other libraries are.
typedef struct {
    uintptr_t base;
    const ElfW(Sym) *symbols;
    const char *names;
    uintptr_t read_only_start, read_only_end;
} image;

static void replace_in(const ElfW(Rela) *table, size_t size, const image *image, search *search) {
    for (size_t index = 0; table && index < size / sizeof *table; index += 1) {
        const char *name = image->names + image->symbols[ELF64_R_SYM(table[index].r_info)].st_name;
        void **place = (void **)(image->base + table[index].r_offset);
        bool is_read_only = (uintptr_t)place >= image->read_only_start && (uintptr_t)place < image->read_only_end;
        for (size_t one = 0; one < sizeof replacements / sizeof *replacements; one += 1) {
            library library = replacements[one].library;
            if (strcmp(name, replacements[one].name) != 0 || !search->has[library]) { continue; }
            bool is_written = write_pointer(place, replacements[one].function, is_read_only);
            if (is_written && library == of_nghttp2) { search->is_replaced = true; }
        }
    }
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *search = context;
    if (info->dlpi_addr != search->base) { return 0; }
    image image = {.base = info->dlpi_addr};
    const ElfW(Dyn) *entry = NULL;
    for (int index = 0; index < info->dlpi_phnum; index += 1) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[index];
        if (part->p_type == PT_DYNAMIC) { entry = (const ElfW(Dyn) *)(image.base + part->p_vaddr); }
        if (part->p_type == PT_GNU_RELRO) {
            image.read_only_start = image.base + part->p_vaddr;
            image.read_only_end = image.read_only_start + part->p_memsz;
        }
    }
    const ElfW(Rela) *calls = NULL, *others = NULL;
    size_t calls_size = 0, others_size = 0;
    for (; entry && entry->d_tag != DT_NULL; entry += 1) {
        // Some dynamic linkers store addresses relative to the start of the library, others absolute addresses.
        uintptr_t address = entry->d_un.d_ptr < image.base ? image.base + entry->d_un.d_ptr : entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: image.symbols = (const ElfW(Sym) *)address; break;
        case DT_STRTAB: image.names = (const char *)address; break;
        case DT_JMPREL: calls = (const ElfW(Rela) *)address; break;
        case DT_PLTRELSZ: calls_size = entry->d_un.d_val; break;
        case DT_RELA: others = (const ElfW(Rela) *)address; break;
        case DT_RELASZ: others_size = entry->d_un.d_val; break;
        default: break;
        }
    }
    if (!image.symbols || !image.names) { return 1; }
    replace_in(calls, calls_size, &image, search);
    replace_in(others, others_size, &image, search);
    return 1;
}

static bool is_watched;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = clarkspur_curl_library();
    struct link_map *map = NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) { return; }
#define BIND(name, result, parameters) *(void **)&nghttp2.name = dlsym(library, #name);
    FUNCTIONS(BIND)
    search search = {
        .base = map->l_addr,
        .has[of_system] = true,
        .has[of_openssl] = clarkspur_share_limits_openssl(),
        .has[of_nghttp2] = nghttp2.nghttp2_session_callbacks_set_on_begin_frame_callback
            && nghttp2.nghttp2_session_callbacks_set_before_frame_send_callback
            && nghttp2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback
            && nghttp2.nghttp2_session_callbacks_set_on_stream_close_callback
            && nghttp2.nghttp2_session_get_stream_user_data && nghttp2.nghttp2_session_get_stream_remote_close
            && nghttp2.nghttp2_session_terminate_session};
    dl_iterate_phdr(look_at, &search);
    is_watched = search.is_replaced;
}

bool clarkspur_http2_is_watched(void) {
    pthread_once(&once, load);
    return is_watched;
}

#else

const clarkspur_http2_watcher *clarkspur_http2_watch(const clarkspur_http2_watcher *watcher) {
    (void)watcher;
    return NULL;
}
bool clarkspur_http2_is_watched(void) { return false; }
bool clarkspur_http2_is_half_closed(void *session, int32_t stream) {
    (void)session;
    (void)stream;
    return false;
}
bool clarkspur_http2_has_ended(void *session, int32_t stream) {
    (void)session;
    (void)stream;
    return false;
}

#endif
