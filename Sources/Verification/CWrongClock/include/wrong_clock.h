// Loaded into a program by LD_PRELOAD, this library shifts its clock by the milliseconds in WRONG_CLOCK_MS: the time of
// day, not the monotonic clocks. For tests and chaos runs.
// libfaketime does not work with the allocator of Debian's redis-server.
#ifndef WRONG_CLOCK_H
#define WRONG_CLOCK_H
#endif
