#include "transfers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    void *easy;
    double start;
    int file;
    off_t offset;
} transfer;

tally counts;
static transfer *transfers;
static int transfer_count;
static int running;
static void *multi_handle;
static long round_count;
static double round_end;

double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t drop_bytes(char *bytes, size_t size, size_t count, void *unused) {
    (void)bytes, (void)unused;
    counts.bytes += size * count;
    return size * count;
}

static size_t read_file(char *buffer, size_t size, size_t count, void *context) {
    transfer *transfer = context;
    ssize_t length = pread(transfer->file, buffer, size * count, transfer->offset);
    if (length < 0) return 0x10000000;  // CURL_READFUNC_ABORT
    transfer->offset += length;
    counts.bytes += (uint64_t)length;
    return (size_t)length;
}

static bool set_upload(const plan *plan, transfer *transfer) {
    struct stat status;
    transfer->file = open(plan->upload, O_RDONLY | O_CLOEXEC);
    if (transfer->file < 0 || fstat(transfer->file, &status) != 0) {
        perror(plan->upload);
        return false;
    }
    void *headers = curl.slist_append(NULL, "Expect:");
    curl.easy_setopt(transfer->easy, curlopt_httpheader, headers);
    curl.easy_setopt(transfer->easy, curlopt_upload, 1L);
    curl.easy_setopt(transfer->easy, curlopt_infilesize_large, status.st_size);
    curl.easy_setopt(transfer->easy, curlopt_readfunction, read_file);
    curl.easy_setopt(transfer->easy, curlopt_readdata, transfer);
    return true;
}

static bool set_options(const plan *plan, transfer *transfer) {
    static const int versions[] = {curl_http_1_1, curl_http_2_tls, curl_http_2_prior_knowledge};
    void *easy = transfer->easy;
    curl.easy_setopt(easy, curlopt_url, plan->url);
    curl.easy_setopt(easy, curlopt_proxy, "");
    curl.easy_setopt(easy, curlopt_nosignal, 1L);
    curl.easy_setopt(easy, curlopt_private, transfer);
    curl.easy_setopt(easy, curlopt_writefunction, drop_bytes);
    curl.easy_setopt(easy, curlopt_http_version, (long)versions[plan->http - 1]);
    curl.easy_setopt(easy, curlopt_pipewait, plan->http > 1 ? 1L : 0L);
    if (plan->ca_file) curl.easy_setopt(easy, curlopt_cainfo, plan->ca_file);
    if (plan->big_buffers) {
        curl.easy_setopt(easy, curlopt_buffersize, 512L * 1024);
        curl.easy_setopt(easy, curlopt_upload_buffersize, 1024L * 1024);
    }
    return plan->upload ? set_upload(plan, transfer) : true;
}

bool transfers_open(const plan *plan, void *multi, void (*prepare)(void *easy)) {
    multi_handle = multi;
    transfer_count = plan->concurrency;
    transfers = calloc((size_t)transfer_count, sizeof *transfers);
    if (!transfers) return false;
    for (int i = 0; i < transfer_count; i++) {
        transfers[i].easy = curl.easy_init();
        if (!transfers[i].easy || !set_options(plan, &transfers[i])) return false;
        if (prepare) prepare(transfers[i].easy);
    }
    return true;
}

static bool start(transfer *transfer, double now) {
    if (round_count ? counts.started >= round_count : now >= round_end) return false;
    transfer->start = now;
    transfer->offset = 0;
    counts.started++;
    running++;
    curl.multi_add_handle(multi_handle, transfer->easy);
    return true;
}

void transfers_begin(long count, double seconds) {
    memset(&counts, 0, sizeof counts);
    double now = now_seconds();
    round_count = count;
    round_end = now + seconds;
    for (int i = 0; i < transfer_count && start(&transfers[i], now); i++) {}
}

static void finish(transfer *transfer, int result, double now) {
    long status = 0;
    curl.easy_getinfo(transfer->easy, curlinfo_response_code, &status);
    if (result != 0 || status / 100 != 2) {
        if (counts.errors++ == 0) fprintf(stderr, "first error: libcurl's code %d, status %ld\n", result, status);
    }
    counts.finished++;
    double microseconds = (now - transfer->start) * 1e6;
    counts.histogram[microseconds < histogram_size ? (int)microseconds : histogram_size - 1]++;
    running--;
}

void transfers_collect(void) {
    int left = 0;
    double now = 0;
    for (curl_message *message; (message = curl.multi_info_read(multi_handle, &left));) {
        transfer *transfer = NULL;
        int result = message->data.result;
        if (now == 0) now = now_seconds();
        curl.easy_getinfo(message->easy, curlinfo_private, &transfer);
        curl.multi_remove_handle(multi_handle, transfer->easy);
        finish(transfer, result, now);
        start(transfer, now);
    }
}

bool transfers_running(void) { return running > 0; }
