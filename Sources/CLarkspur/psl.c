#include "psl.h"

#include "binding.h"

#define FUNCTIONS(F) \
    F(psl_builtin, const void *, (void)) \
    F(psl_is_public_suffix2, int, (const void *, const char *, int))

DEFINE_BINDING("libpsl", "5")

// Matches the suffixes of registries, such as `co.uk`, and of companies, such as `github.io`.
enum { PSL_TYPE_ANY = 3 };

clarkspur_psl_verdict clarkspur_psl_verdict_on(const char *domain) {
    const void *list = is_bound() ? bound.psl_builtin() : NULL;
    if (!list) { return clarkspur_psl_unknown; }
    return bound.psl_is_public_suffix2(list, domain, PSL_TYPE_ANY) ? clarkspur_psl_public : clarkspur_psl_private;
}
