#pragma once

// Writes the value of Sec-WebSocket-Accept for the 24 characters of a key: 28 characters and a null.
void accept_key(const char *key, char accept[29]);
