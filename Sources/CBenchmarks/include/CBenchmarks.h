#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stddef.h>
#include <stdint.h>

/// What a bare program gets out of Postgres: one connection, blocking libpq, no more work than the protocol asks for.

/// What a run took. `cpu_us` is user + system time of the calling process.
typedef struct {
    double seconds;
    uint64_t cpu_us;
    uint64_t rows;
    uint64_t bytes;
} cbench_outcome;

/// Prepares `sql` once and executes it `rounds` times, one after the other, with the same text parameters. Every value
/// of every answer is touched.
/// Returns 0, or -1 with libpq's message in `message` (cut off at `message_size`).
int cbench_pq_loop(const char *connection, const char *sql, const char *const *values, int count, uint32_t rounds,
                   cbench_outcome *outcome, char *message, size_t message_size);

#endif
