#define _GNU_SOURCE
#include "curl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding.h"
#include "curl_constants.h"
#include "share.h"

// MARK: Declarations of libcurl

typedef struct {
    int msg;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} message;

// The first members of curl_version_info_data, to which libcurl only ever appends.
typedef struct {
    int age;
    const char *version;
    unsigned version_num;
    const char *host;
    int features;
    const char *ssl_version;
} version_info;

struct blob {
    void *data;
    size_t len;
    unsigned flags;
};

enum { oldest_version = 0x074a00 };  // 7.74, the oldest version that the tests run with

// MARK: Binding

#define FUNCTIONS(F) \
    F(curl_global_init, int, (long)) \
    F(curl_version_info, version_info *, (int)) \
    F(curl_easy_init, void *, (void)) \
    F(curl_easy_cleanup, void, (void *)) \
    F(curl_easy_setopt, int, (void *, int, ...)) \
    F(curl_easy_getinfo, int, (void *, int, ...)) \
    F(curl_easy_pause, int, (void *, int)) \
    F(curl_easy_send, int, (void *, const void *, size_t, size_t *)) \
    F(curl_easy_recv, int, (void *, void *, size_t, size_t *)) \
    F(curl_easy_strerror, const char *, (int)) \
    F(curl_slist_append, void *, (void *, const char *)) \
    F(curl_url, void *, (void)) \
    F(curl_url_cleanup, void, (void *)) \
    F(curl_url_set, int, (void *, int, const char *, unsigned)) \
    F(curl_multi_init, void *, (void)) \
    F(curl_multi_cleanup, int, (void *)) \
    F(curl_multi_setopt, int, (void *, int, ...)) \
    F(curl_multi_add_handle, int, (void *, void *)) \
    F(curl_multi_remove_handle, int, (void *, void *)) \
    F(curl_multi_socket_action, int, (void *, int, int, int *)) \
    F(curl_multi_info_read, message *, (void *, int *))

FUNCTIONS(DECLARE_WEAK)

static struct {
    FUNCTIONS(DECLARE_MEMBER)
} curl;

// curl_multi_wakeup; NULL if libcurl's shared library was not found, as in a static build.
static int (*wake_multi)(void *);
static char problem[512];
static void *loaded;
static void *openssl;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *find(void *library, const char *name, void *weak) {
    void *function = weak ? weak : library ? dlsym(library, name) : NULL;
    if (!function && !problem[0]) { snprintf(problem, sizeof problem, "libcurl has no function %s", name); }
    return function;
}

// Initialises OpenSSL without its exit handlers: they would free memory that a transport's thread may still use.
static void skip_openssl_exit_handlers(void *library, const version_info *version) {
    if (!library || !version->ssl_version || strncmp(version->ssl_version, "OpenSSL", 7) != 0) { return; }
    openssl = library;
    int (*init)(uint64_t, const void *) = (int (*)(uint64_t, const void *))dlsym(library, "OPENSSL_init_ssl");
    const uint64_t OPENSSL_INIT_NO_ATEXIT = 0x00080000;
    if (init) { init(OPENSSL_INIT_NO_ATEXIT, NULL); }
}

// The path of the libcurl to load instead of the system's, or an empty text. `clarkspur_curl_choose` sets it once.
static char chosen_path[4096];
static bool is_chosen;
static pthread_mutex_t choice = PTHREAD_MUTEX_INITIALIZER;

bool clarkspur_curl_choose(const char *path) {
    const char *wanted = path ? path : "";
    if (strlen(wanted) >= sizeof chosen_path) { return false; }
    pthread_mutex_lock(&choice);
    if (!is_chosen) { strcpy(chosen_path, wanted); }
    is_chosen = true;
    bool is_same = strcmp(chosen_path, wanted) == 0;
    pthread_mutex_unlock(&choice);
    return is_same;
}

#if defined(RTLD_DEEPBIND) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
static bool is_allocator_of_libc(void) {
    Dl_info allocator, other;
    void *allocate = dlsym(RTLD_DEFAULT, "malloc"), *function = dlsym(RTLD_DEFAULT, "qsort");
    return allocate && function && dladdr(allocate, &allocator) && dladdr(function, &other)
        && allocator.dli_fbase == other.dli_fbase;
}

// The program may contain another libcurl already, for example because Foundation links it. A library from a path must
// not use the functions of that one, so it looks for functions in itself and its own libraries first. With an allocator
// other than libc's, that would mix two allocators.
static int flags_for_chosen(void) {
    bool is_isolated = dlsym(RTLD_DEFAULT, "curl_easy_init") && is_allocator_of_libc();
    return RTLD_NOW | RTLD_LOCAL | (is_isolated ? RTLD_DEEPBIND : 0);
}
#else
static int flags_for_chosen(void) { return RTLD_NOW | RTLD_LOCAL; }
#endif

static void load(void) {
    clarkspur_curl_choose(NULL);  // no effect if a path was chosen before
    bool has_path = chosen_path[0];
    void *library = has_path ? dlopen(chosen_path, flags_for_chosen()) : open_library(LIBRARY_NAME("libcurl", "4"));
    if (!library && (has_path || !WEAK(curl_easy_init))) {
        const char *what = has_path ? "libcurl cannot be loaded" : "libcurl is not installed";
        snprintf(problem, sizeof problem, "%s: %s", what, dlerror());
        return;
    }
#define FIND(name, result, parameters) *(void **)&curl.name = find(library, #name, has_path ? NULL : WEAK(name));
    FUNCTIONS(FIND)
    if (problem[0]) { return; }
    *(void **)&wake_multi = library ? dlsym(library, "curl_multi_wakeup") : NULL;

    const version_info *version = curl.curl_version_info(CURLVERSION_FIRST);
    if (version->version_num < oldest_version) {
        snprintf(problem, sizeof problem, "libcurl %s is too old: 7.74 is the oldest that is supported", version->version);
        return;
    }
    skip_openssl_exit_handlers(library, version);
    loaded = library;
    int code = curl.curl_global_init(CURL_GLOBAL_ALL);
    if (code) { snprintf(problem, sizeof problem, "libcurl could not start: %s", curl.curl_easy_strerror(code)); }
}

const char *clarkspur_curl_load(void) {
    pthread_once(&once, load);
    return problem[0] ? problem : NULL;
}

void *clarkspur_curl_library(void) { return clarkspur_curl_load() ? NULL : loaded; }

void *clarkspur_curl_openssl(void) { return clarkspur_curl_load() ? NULL : openssl; }

clarkspur_curl_version clarkspur_curl_get_version(void) {
    const version_info *version = curl.curl_version_info(CURLVERSION_FIRST);
    return (clarkspur_curl_version){
        .number = version->version_num,
        .text = version->version,
        .tls = version->ssl_version,
        .has_http2 = version->features & CURL_VERSION_HTTP2,
        .has_http3 = version->features & CURL_VERSION_HTTP3,
    };
}

// MARK: Easy handles

void *clarkspur_easy_open(void) { return curl.curl_easy_init(); }
void clarkspur_easy_close(void *easy) { curl.curl_easy_cleanup(easy); }

int clarkspur_easy_set_long(void *easy, int option, long value) { return curl.curl_easy_setopt(easy, option, value); }

int clarkspur_easy_set_offset(void *easy, int option, int64_t value) {
    return curl.curl_easy_setopt(easy, option, value);
}

int clarkspur_easy_set_pointer(void *easy, int option, const void *value) {
    return curl.curl_easy_setopt(easy, option, value);
}

int clarkspur_easy_set_function(void *easy, int option, void (*function)(void)) {
    return curl.curl_easy_setopt(easy, option, function);
}

int clarkspur_easy_set_blob(void *easy, int option, const void *bytes, size_t count, bool is_copied) {
    struct blob blob = {(void *)bytes, count, is_copied ? CURL_BLOB_COPY : 0};
    return curl.curl_easy_setopt(easy, option, &blob);
}

int clarkspur_easy_pause(void *easy, int directions) { return curl.curl_easy_pause(easy, directions); }

int clarkspur_easy_socket(void *easy) {
    int descriptor = -1;
    return curl.curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor) == 0 ? descriptor : -1;
}

long clarkspur_easy_send(void *easy, const void *bytes, size_t count) {
    size_t sent = 0;
    int code = curl.curl_easy_send(easy, bytes, count, &sent);
    if (code == 0 && sent > 0) { return (long)sent; }
    return code == CURLE_AGAIN || code == 0 ? clarkspur_would_block : clarkspur_lost;
}

long clarkspur_easy_receive(void *easy, void *bytes, size_t capacity) {
    size_t received = 0;
    int code = curl.curl_easy_recv(easy, bytes, capacity, &received);
    if (code == 0) { return (long)received; }
    return code == CURLE_AGAIN ? clarkspur_would_block : clarkspur_lost;
}

long clarkspur_easy_long(void *easy, int info) {
    long value = 0;
    curl.curl_easy_getinfo(easy, info, &value);
    return value;
}

int64_t clarkspur_easy_offset(void *easy, int info) {
    int64_t value = 0;
    curl.curl_easy_getinfo(easy, info, &value);
    return value;
}

const char *clarkspur_easy_text(void *easy, int info) {
    const char *value = NULL;
    curl.curl_easy_getinfo(easy, info, &value);
    return value;
}

void *clarkspur_easy_pointer(void *easy, int info) {
    void *value = NULL;
    curl.curl_easy_getinfo(easy, info, &value);
    return value;
}

const char *clarkspur_easy_error(int code) { return curl.curl_easy_strerror(code); }

// MARK: URLs

void *clarkspur_url_open(void) { return curl.curl_url(); }
void clarkspur_url_close(void *url) { curl.curl_url_cleanup(url); }

bool clarkspur_url_set(void *url, const char *text) {
    return curl.curl_url_set(url, CURLUPART_URL, text, CURLU_PATH_AS_IS) == 0;
}

// MARK: Callbacks

void clarkspur_easy_on_body(void *easy, clarkspur_transfer_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

void clarkspur_easy_on_header(void *easy, clarkspur_transfer_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

void clarkspur_easy_on_upload(void *easy, clarkspur_transfer_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_READFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_READDATA, context);
}

void clarkspur_easy_on_seek(void *easy, clarkspur_seek_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
}

void clarkspur_easy_on_sockets(
    void *easy, clarkspur_open_function open, void *open_context, clarkspur_close_function close, void *close_context) {
    curl.curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    curl.curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, open_context);
    curl.curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
    curl.curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, close_context);
}

void clarkspur_easy_on_trailers(void *easy, clarkspur_trailers_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_TRAILERDATA, context);
    curl.curl_easy_setopt(easy, CURLOPT_TRAILERFUNCTION, function);
}

bool clarkspur_list_append(void **list, const char *line) {
    void *longer = curl.curl_slist_append(*list, line);
    if (longer) { *list = longer; }
    return longer;
}

void clarkspur_easy_on_request(void *easy, clarkspur_request_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

void clarkspur_easy_on_progress(void *easy, clarkspur_progress_function function, void *context) {
    curl.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
    curl.curl_easy_setopt(easy, CURLOPT_XFERINFODATA, context);
}

// MARK: Multi handles

// The number of descriptors among which `keep_wakers_from_children` searches for libcurl's two.
enum { candidate_count = 8 };

// Finds the numbers that the kernel assigns to the next descriptors, as long as no other thread opens one meanwhile.
static void find_next_descriptors(int numbers[candidate_count]) {
    for (int i = 0; i < candidate_count; i++) { numbers[i] = open("/dev/null", O_RDONLY | O_CLOEXEC); }
    for (int i = 0; i < candidate_count; i++) {
        if (numbers[i] >= 0) { close(numbers[i]); }
    }
}

// Returns how many bytes wait in the pipe or local socket pair that the descriptor is one end of. Returns -1 for any
// other descriptor, and for a descriptor that child processes do not inherit.
static int bytes_waiting(int descriptor) {
    int flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFD);
    struct stat status;
    if (flags < 0 || flags & FD_CLOEXEC || fstat(descriptor, &status)) { return -1; }
    int input = 0, output = 0;
    if (S_ISSOCK(status.st_mode)) {
        struct sockaddr address;
        socklen_t size = sizeof address;
        if (getsockname(descriptor, &address, &size) || address.sa_family != AF_UNIX) { return -1; }
        if (ioctl(descriptor, TIOCOUTQ, &output)) { output = 0; }
    } else if (!S_ISFIFO(status.st_mode)) {
        return -1;
    }
    return ioctl(descriptor, FIONREAD, &input) ? output : input + output;
}

// Before version 8.8, libcurl opens two descriptors for wake-ups and does not reveal their numbers. Child processes
// inherit these descriptors. This function wakes libcurl, finds the descriptors by the byte that arrives in them, and
// keeps child processes from inheriting them. The byte can stay in the descriptors: only curl_multi_poll would read it,
// and this library does not call that function.
static void keep_wakers_from_children(void *multi, const int numbers[candidate_count]) {
    int before[candidate_count];
    for (int i = 0; i < candidate_count; i++) { before[i] = bytes_waiting(numbers[i]); }
    if (wake_multi(multi)) { return; }
    for (int i = 0; i < candidate_count; i++) {
        if (before[i] == 0 && bytes_waiting(numbers[i]) > 0) { fcntl(numbers[i], F_SETFD, FD_CLOEXEC); }
    }
}

void *clarkspur_multi_open(void) {
    int numbers[candidate_count];
    find_next_descriptors(numbers);
    void *multi = curl.curl_multi_init();
    if (multi && wake_multi) { keep_wakers_from_children(multi, numbers); }
    return multi;
}

void clarkspur_multi_close(void *multi) { curl.curl_multi_cleanup(multi); }

int clarkspur_multi_set_long(void *multi, int option, long value) {
    return curl.curl_multi_setopt(multi, option, value);
}

void clarkspur_multi_on_socket(void *multi, clarkspur_socket_function function, void *context) {
    curl.curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
    curl.curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

void clarkspur_multi_on_timer(void *multi, clarkspur_timer_function function, void *context) {
    curl.curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
    curl.curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

int clarkspur_multi_add(void *multi, void *easy) { return curl.curl_multi_add_handle(multi, easy); }
int clarkspur_multi_remove(void *multi, void *easy) { return curl.curl_multi_remove_handle(multi, easy); }

int clarkspur_multi_act(void *multi, int descriptor, int ready) {
    int running;
    clarkspur_share before = clarkspur_share_begin();
    int code = curl.curl_multi_socket_action(multi, descriptor, ready, &running);
    clarkspur_share_end(before);
    return code;
}

void *clarkspur_multi_next_ended(void *multi, int *code) {
    int left;
    message *next;
    while ((next = curl.curl_multi_info_read(multi, &left))) {
        if (next->msg != CURLMSG_DONE) { continue; }
        *code = next->data.result;
        return next->easy;
    }
    return NULL;
}
