#include "curl.h"
#include "loopback.h"
#include "poller.h"
#include "thread.h"
