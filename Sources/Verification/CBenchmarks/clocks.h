#ifndef CBENCHMARKS_CLOCKS_H
#define CBENCHMARKS_CLOCKS_H

#include <stdint.h>
#include <time.h>

static inline double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double now_seconds(void) { return seconds_of(CLOCK_MONOTONIC); }

static inline uint64_t thread_cpu_us(void) { return (uint64_t)(seconds_of(CLOCK_THREAD_CPUTIME_ID) * 1e6); }

#endif
