#define _GNU_SOURCE
#include "include/wrong_clock.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// System calls instead of the next library's functions, which might call back before they are initialized.
int clock_gettime(clockid_t clock, struct timespec *time) {
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return status;
    // Read on each call: no allocation and no dependence on initialization order.
    const char *text = getenv("WRONG_CLOCK_MS");
    long long error = text ? atoll(text) : 0;
    long long nanoseconds = time->tv_nsec + error % 1000 * 1000000;
    time->tv_sec += error / 1000 + nanoseconds / 1000000000;
    time->tv_nsec = nanoseconds % 1000000000;
    if (time->tv_nsec < 0) {
        time->tv_nsec += 1000000000;
        time->tv_sec -= 1;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
