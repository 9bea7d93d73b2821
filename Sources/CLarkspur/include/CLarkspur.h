#include "curl.h"
#include "poller.h"
#include "thread.h"
