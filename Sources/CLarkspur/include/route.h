#pragma once

#include <stdbool.h>

// The answer of the system about its route to a host.
typedef enum {
    // There is a route to an address of the host, over an interface that is running.
    clarkspur_route_exists,
    // There is no route to any address of the host.
    clarkspur_route_missing,
    // The host has no address. The name does not exist.
    clarkspur_route_unknown_name,
    // The name could not be looked up now, for example because no name server can be reached.
    clarkspur_route_no_answer,
} clarkspur_route;

// Finds the route to a host without sending anything to it. The lookup of a name may block for long. If `is_address`,
// it does not block: the host must be an IP address, and any other text is an unknown name.
clarkspur_route clarkspur_route_find(const char *host, bool is_address);
