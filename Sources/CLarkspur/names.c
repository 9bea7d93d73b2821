#include "names.h"

#include <string.h>

static char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter; }

static bool is_same(const char *name, const char *other, size_t length) {
    for (size_t index = 0; index < length; index += 1) {
        if (lower(name[index]) != lower(other[index])) { return false; }
    }
    return true;
}

// Returns the length without the trailing dot of an absolute name.
static size_t relative(const char *name, size_t length) {
    return length > 0 && name[length - 1] == '.' ? length - 1 : length;
}

bool clarkspur_name_fits(const char *name, size_t name_length, const char *host, size_t host_length) {
    name_length = relative(name, name_length);
    host_length = relative(host, host_length);
    if (name_length > 2 && name[0] == '*' && name[1] == '.') {
        // The wildcard matches one whole label. `*.com`, directly below a top-level domain, matches no host.
        const char *label_end = memchr(host, '.', host_length);
        if (!label_end || label_end == host || !memchr(name + 2, '.', name_length - 2)) { return false; }
        host_length -= (size_t)(label_end - host);
        host = label_end;
        name += 1;
        name_length -= 1;
    }
    if (name_length == 0 || memchr(name, '*', name_length)) { return false; }
    return name_length == host_length && is_same(name, host, name_length);
}
