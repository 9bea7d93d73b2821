#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

// Binds a library at run time. The functions of a library are listed in a macro FUNCTIONS(F), one line F(name, result,
// parameters) each. DEFINE_BINDING turns the list into `bound`, a table of pointers, and `is_bound()`, which fills the
// table once. A function comes from the process if it is there already (a static build), otherwise from the library.
// DEFINE_OPENSSL_BINDING uses only the OpenSSL that libcurl uses: the process may contain another OpenSSL, which cannot
// work with libcurl's handles.

#define DECLARE_MEMBER(name, result, parameters) result(*name) parameters;

#if defined(__APPLE__)
// The linker of Apple platforms requires a definition of weak symbols too.
#define DECLARE_WEAK(name, result, parameters)
#define WEAK(name) NULL
#define LIBRARY_NAME(name, version) name "." version ".dylib"
#else
#define DECLARE_WEAK(name, result, parameters) extern result name parameters __attribute__((weak));
#define WEAK(name) ((void *)name)
#define LIBRARY_NAME(name, version) name ".so." version
#endif

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
    DEFINE_TABLE(dlopen(LIBRARY_NAME(name, version), RTLD_NOW | RTLD_LOCAL), BIND_WEAK)

#define DEFINE_OPENSSL_BINDING() DEFINE_TABLE(clarkspur_curl_openssl(), BIND)
