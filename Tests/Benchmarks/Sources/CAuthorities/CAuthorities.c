#include "CAuthorities.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#if defined(__linux__)
static char *authorities;

void larkspur_set_authorities(const char *path) { authorities = strdup(path); }

// An executable's own function takes precedence over a library's for every library in the process.
void *curl_easy_init(void);

void *curl_easy_init(void) {
    void *(*init)(void) = (void *(*)(void))dlsym(RTLD_NEXT, "curl_easy_init");
    int (*setopt)(void *, int, ...) = (int (*)(void *, int, ...))dlsym(RTLD_NEXT, "curl_easy_setopt");
    void *easy = init ? init() : NULL;
    if (easy && setopt && authorities) setopt(easy, 10065, authorities);  // CURLOPT_CAINFO
    return easy;
}
#else
void larkspur_set_authorities(const char *path) { (void)path; }
#endif
