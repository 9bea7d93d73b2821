#pragma once

// The public suffix list of libpsl. This module finds libpsl at run time, as it finds libcurl. libcurl has often loaded
// libpsl already.

typedef enum {
    // libpsl is missing, or was built without a list.
    clarkspur_psl_unknown,
    clarkspur_psl_private,
    clarkspur_psl_public,
} clarkspur_psl_verdict;

// Returns whether the domain, in lower-case ASCII, is a public suffix. This function may be called on any thread, any
// number of times.
clarkspur_psl_verdict clarkspur_psl_verdict_on(const char *domain);
