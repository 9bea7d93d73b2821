#pragma once

// The list of public suffixes by libpsl, bound at run time as libcurl is, which has often loaded it already.

typedef enum {
    // libpsl is not there, or was built without a list.
    clarkspur_psl_unknown,
    clarkspur_psl_private,
    clarkspur_psl_public,
} clarkspur_psl_verdict;

// Whether anybody can register names below this one, which is in lower case and ASCII. Any thread, any number of times.
clarkspur_psl_verdict clarkspur_psl_verdict_on(const char *domain);
