#include "libcurl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

libcurl curl;

static const struct {
    const char *name;
    void **place;
} symbols[] = {
    {"curl_global_init", (void **)&curl.global_init},
    {"curl_version", (void **)&curl.version},
    {"curl_easy_init", (void **)&curl.easy_init},
    {"curl_easy_setopt", (void **)&curl.easy_setopt},
    {"curl_easy_getinfo", (void **)&curl.easy_getinfo},
    {"curl_easy_cleanup", (void **)&curl.easy_cleanup},
    {"curl_slist_append", (void **)&curl.slist_append},
    {"curl_multi_init", (void **)&curl.multi_init},
    {"curl_multi_setopt", (void **)&curl.multi_setopt},
    {"curl_multi_add_handle", (void **)&curl.multi_add_handle},
    {"curl_multi_remove_handle", (void **)&curl.multi_remove_handle},
    {"curl_multi_perform", (void **)&curl.multi_perform},
    {"curl_multi_poll", (void **)&curl.multi_poll},
    {"curl_multi_socket_action", (void **)&curl.multi_socket_action},
    {"curl_multi_info_read", (void **)&curl.multi_info_read},
    {"curl_multi_cleanup", (void **)&curl.multi_cleanup},
};

bool libcurl_load(void) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *symbols[i].place = dlsym(library, symbols[i].name);
        if (!*symbols[i].place) {
            fprintf(stderr, "libcurl has no %s\n", symbols[i].name);
            return false;
        }
    }
    return curl.global_init(3) == 0;
}
