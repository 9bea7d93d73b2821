#include "width.h"

#include <stdbool.h>
#include <stdlib.h>

// Of CLarkspur, on which not every test depends.
extern bool clarkspur_curl_choose(const char *path) __attribute__((weak));

// If the variable is set, the tests run with the libcurl of this path, which the loader would not find by its name.
__attribute__((constructor)) static void choose_library(void) {
    const char *path = getenv("LARKSPUR_LIBCURL_PATH");
    if (path && clarkspur_curl_choose) { clarkspur_curl_choose(path); }
}
