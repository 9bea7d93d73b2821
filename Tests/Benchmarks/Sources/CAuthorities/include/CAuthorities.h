#ifndef C_AUTHORITIES_H
#define C_AUTHORITIES_H

/// Makes every libcurl handle from now on trust the certificates of this file: URLSession on Linux has no option for
/// that. It works if Foundation uses a shared libcurl.
void larkspur_set_authorities(const char *path);

#endif
