#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stddef.h>
#include <stdint.h>

/// Baselines: what a program without our layers achieves with the same servers. All calls block until done.

/// The cost of a loop. `cpu_us` is the calling thread's user and system time.
typedef struct {
    double seconds;
    uint64_t cpu_us;
    uint64_t statements;
    uint64_t rows;
    /// The bytes of the values received.
    uint64_t bytes;
} cbench_pq_outcome;

/// Prepares `sql` once on one connection and executes it, one after the other, `rounds` times for each of `sets` sets
/// of `count` text parameters (`values[set * count + i]`; NULL is NULL). Reads every value of every result.
/// Returns 0, or -1 with libpq's message in `message` (cut off at `message_size`).
int cbench_pq_loop(const char *connection, const char *sql, const char *const *values, uint32_t count, uint32_t sets,
                   uint32_t rounds, cbench_pq_outcome *outcome, char *message, size_t message_size);

/// The measures of an HTTP server's callers. Latencies are in seconds.
typedef struct {
    double seconds;
    uint64_t cpu_us;
    uint64_t answered;
    /// Responses other than 200.
    uint64_t refused;
    double median;
    double p99;
} cbench_http_outcome;

/// Runs `connections` callers on 127.0.0.1:`port`, each on a kept-alive connection with one request at a time, taking
/// the next of `requests` (complete HTTP/1.1 messages of `lengths[i]` bytes) in turn. Measures for `seconds` after a
/// warm-up of `warm_seconds`. Returns 0, or -1 if a connection failed or a response was invalid.
int cbench_http_loop(uint16_t port, const char *const *requests, const size_t *lengths, uint32_t request_count,
                     uint32_t connections, double warm_seconds, double seconds, cbench_http_outcome *outcome);

/// The parts of the path from a commit to its delivery, with hiredis, libpq and sockets only. One call at a time.
typedef struct cbench_path cbench_path;

/// Connects to the Redis on 127.0.0.1:`redis_port`, where a thread waits in XREAD for the empty `stream`, to
/// `database`, where `sql` (one row) is prepared for `count` text parameters, and over loopback to a thread that reads.
/// `values` must live as long as the path. Returns NULL on failure.
cbench_path *cbench_path_open(uint16_t redis_port, const char *stream, const char *database, const char *sql,
                              const char *const *values, uint32_t count);

/// Times one hop, from XADD of an event to its arrival in the other thread. This and the next two return 0, or -1 if a
/// connection failed.
int cbench_path_hop(cbench_path *path, double *seconds);
/// Times one execution of the prepared statement.
int cbench_path_read(cbench_path *path, double *seconds);
/// Times sending a result from one thread to the other.
int cbench_path_write(cbench_path *path, double *seconds);

void cbench_path_close(cbench_path *path);

#endif
