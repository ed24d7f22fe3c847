// Loaded before a program (LD_PRELOAD), this library makes its clock wrong by the milliseconds in WRONG_CLOCK_MS:
// the time of day, not the clocks that only count. For tests and chaos runs.
// libfaketime does not go with the allocator of Debian's redis-server.
#ifndef WRONG_CLOCK_H
#define WRONG_CLOCK_H
#endif
