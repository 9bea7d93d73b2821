#ifndef C_AUTHORITIES_H
#define C_AUTHORITIES_H

/// Makes every libcurl handle that is made from now on believe the certificates of this file: URLSession on Linux has no
/// way to say so. Works where Foundation uses a shared libcurl.
void larkspur_set_authorities(const char *path);

#endif
