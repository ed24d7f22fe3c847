#pragma once
// What Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>

/// Names the calling thread (at most 15 bytes) for `top -H` and debuggers.
static inline void name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}
