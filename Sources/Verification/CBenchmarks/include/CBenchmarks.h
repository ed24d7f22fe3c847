#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stddef.h>
#include <stdint.h>

/// What a program without any of our layers gets out of the same server. All calls block until they are done.

/// What a loop took. `cpu_us` is user + system time of the calling thread.
typedef struct {
    double seconds;
    uint64_t cpu_us;
    uint64_t statements;
    uint64_t rows;
    /// Of values received.
    uint64_t bytes;
} cbench_pq_outcome;

/// Prepares `sql` once on one connection and executes it, one after the other, `rounds` times for each of `sets` sets of
/// `count` text parameters (`values[set * count + i]`; NULL is NULL). Every value of every answer is looked at.
/// Returns 0, or -1 with libpq's message in `message` (cut off at `message_size`).
int cbench_pq_loop(const char *connection, const char *sql, const char *const *values, uint32_t count, uint32_t sets,
                   uint32_t rounds, cbench_pq_outcome *outcome, char *message, size_t message_size);

/// What callers of an HTTP server saw. Latencies in seconds.
typedef struct {
    double seconds;
    uint64_t cpu_us;
    uint64_t answered;
    /// Of those, not 200.
    uint64_t refused;
    double median;
    double p99;
} cbench_http_outcome;

/// `connections` callers on 127.0.0.1:`port`, each on a kept connection with one request at a time, taking the next of
/// `requests` (whole HTTP/1.1 messages, `lengths[i]` bytes each) in turn. What is answered in the first `warm_seconds`
/// is not counted; then `seconds` are.
/// Returns 0, or -1 when a connection failed or an answer could not be read.
int cbench_http_loop(uint16_t port, const char *const *requests, const size_t *lengths, uint32_t request_count,
                     uint32_t connections, double warm_seconds, double seconds, cbench_http_outcome *outcome);

/// The parts of the way from a commit to its delivery, by hiredis, libpq and sockets alone. One call at a time.
typedef struct cbench_path cbench_path;

/// Connects to the Redis on 127.0.0.1:`redis_port`, where a thread waits in XREAD for `stream` (which holds nothing), to
/// `database`, where `sql` (one row) is prepared for `count` text parameters, and over loopback to a thread that reads.
/// `values` must live as long as the path. Returns NULL when something of that fails.
cbench_path *cbench_path_open(uint16_t redis_port, const char *stream, const char *database, const char *sql,
                              const char *const *values, uint32_t count);

/// From XADD of an event's bytes to the other thread that has them. These return 0, or -1 when a connection failed.
int cbench_path_hop(cbench_path *path, double *seconds);
/// The prepared statement, executed.
int cbench_path_read(cbench_path *path, double *seconds);
/// A result's bytes, from one thread to the other.
int cbench_path_write(cbench_path *path, double *seconds);

void cbench_path_close(cbench_path *path);

#endif
