#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Finds the functions of a library at run time.
//
// The file that includes this header lists the functions in a macro FUNCTIONS(F), with one line F(name, result,
// parameters) for each function. DEFINE_BINDING then defines two things: `bound`, a table of pointers to the functions,
// and `is_bound()`. The first call of `is_bound()` fills the table. Each call returns whether all functions were found.
//
// In a static build, a function is already part of the program, and the table points to it there. Otherwise the table
// points to the function in the shared library. DEFINE_OPENSSL_BINDING searches only the OpenSSL that libcurl uses: the
// program may contain another OpenSSL, whose functions cannot work with libcurl's handles.

#define DECLARE_MEMBER(name, result, parameters) result(*name) parameters;

#if defined(__APPLE__)
// On Apple platforms, the linker rejects a weak symbol without a definition. These macros therefore declare none.
#define DECLARE_WEAK(name, result, parameters)
#define WEAK(name) NULL
#define LIBRARY_NAME(name, version) name "." version ".dylib"
// The system's own libraries and those of the two usual folders of package managers. A name without a folder is not
// used: the loader would also look in the current folder, where another user may have put a library of the same name.
#define LIBRARY_FOLDERS {"/usr/lib/", "/opt/homebrew/lib/", "/usr/local/lib/"}
#else
#define DECLARE_WEAK(name, result, parameters) extern result name parameters __attribute__((weak));
#define WEAK(name) ((void *)name)
#define LIBRARY_NAME(name, version) name ".so." version
// The loader looks in the system's folders and in those of LD_LIBRARY_PATH.
#define LIBRARY_FOLDERS {""}
#endif

// Loads a library from the first of `LIBRARY_FOLDERS` that has it. NULL if none has; `dlerror` describes the last try.
static inline void *open_library(const char *name) {
    static const char *const folders[] = LIBRARY_FOLDERS;
    for (size_t index = 0; index < sizeof folders / sizeof *folders; index++) {
        char path[128];
        int length = snprintf(path, sizeof path, "%s%s", folders[index], name);
        void *library = length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (library) { return library; }
    }
    return NULL;
}

// Fills a member of `bound`, and clears `is_whole` if the function is missing.
#define BIND_TO(name, weak) \
    *(void **)&bound.name = (weak) ? (weak) : library ? dlsym(library, #name) : NULL; \
    is_whole = is_whole && bound.name;
#define BIND_WEAK(name, result, parameters) BIND_TO(name, WEAK(name))
#define BIND(name, result, parameters) BIND_TO(name, NULL)

#define DEFINE_TABLE(open, bind) \
    static struct { \
        FUNCTIONS(DECLARE_MEMBER) \
    } bound; \
    static bool is_whole = true; \
    static pthread_once_t once = PTHREAD_ONCE_INIT; \
    static void load(void) { \
        void *library = open; \
        FUNCTIONS(bind) \
    } \
    static bool is_bound(void) { \
        pthread_once(&once, load); \
        return is_whole; \
    }

#define DEFINE_BINDING(name, version) \
    FUNCTIONS(DECLARE_WEAK) \
    DEFINE_TABLE(open_library(LIBRARY_NAME(name, version)), BIND_WEAK)

#define DEFINE_OPENSSL_BINDING() DEFINE_TABLE(clarkspur_curl_openssl(), BIND)
