#ifndef CLARKSPUR_BINDING_H
#define CLARKSPUR_BINDING_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

// How a library is bound at run time. A list of its functions is a macro FUNCTIONS(F) with one line F(name, result,
// parameters) each: it declares a table of pointers and fills it, from the process where that has the function already (a
// static build), or else from the library.

#define DECLARE_MEMBER(name, result, parameters) result(*name) parameters;

#if defined(__APPLE__)
// The linker there wants to find weak symbols too.
#define DECLARE_WEAK(name, result, parameters)
#define WEAK(name) NULL
#define LIBRARY_NAME(name, version) name "." version ".dylib"
#else
#define DECLARE_WEAK(name, result, parameters) extern result name parameters __attribute__((weak));
#define WEAK(name) ((void *)name)
#define LIBRARY_NAME(name, version) name ".so." version
#endif

// Fills the member of `bound`, and sets `is_whole` to false if the function is nowhere.
#define BIND(name, result, parameters) \
    *(void **)&bound.name = WEAK(name) ? WEAK(name) : library ? dlsym(library, #name) : NULL; \
    is_whole = is_whole && bound.name;

#endif
