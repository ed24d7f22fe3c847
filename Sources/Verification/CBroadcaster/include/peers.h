#ifndef CBROADCASTER_PEERS_H
#define CBROADCASTER_PEERS_H

#include "CBroadcaster.h"

/*
 * Subscribers and publishers of any server, each in its own process. Fork them before the caller starts threads.
 *
 * What is published has one stamp, "§" with a sequence number of 8 digits, ":" and the time of publishing in
 * microseconds of the monotonic clock (16 digits). Publishers write it over the one in their template; a subscriber
 * reads it from what it receives. So a subscriber knows its last result, and how long it was on its way.
 *
 * A script is a sequence of numbers and texts. A number has 32 bits in native byte order; a text is preceded by its
 * length. Functions return 0, or -1 if the other process failed or did not respond in time.
 */

enum { CB_STAMP_BYTES = 27, CB_WEBSOCKET = 1, CB_POLL = 2, CB_LINES = 3 };

/* What subscribers received since cb_subscribers_begin. Times are in seconds from the stamp's to the arrival. */
typedef struct {
    /* Results newer than the subscriber's last one; equal to it; older than it. */
    uint64_t deliveries;
    uint64_t repeated;
    uint64_t backwards;
    /* Responses 503 and 429, each repeated after its Retry-After. */
    uint64_t refused;
    /* Connections that the server closed: opened again by polling clients, lost to others. */
    uint64_t reopened;
    uint64_t lost;
    double median;
    double p99;
    double longest;
} cb_received;

/*
 * Subscribers. Script: the kind (CB_WEBSOCKET, CB_POLL, CB_LINES); a placeholder; the number of keys and the keys, as
 * long as the placeholder, which the keys replace in what the subscribers send, in turn; the number of parts of the
 * request that follows a response and for each part a text and the name of the response's field that it is followed by
 * (empty: none); then pairs of bytes to send and a text to wait for (empty: continue at once).
 */
int cb_subscribers_fork(cb_process *process);
int cb_subscribers_script(const cb_process *process, const uint8_t *bytes, size_t count);
/* Connects at most `per_second` a second. */
int cb_subscribers_connect(const cb_process *process, uint16_t port, uint32_t count, uint32_t per_second);
/* Waits until each subscriber has the result with this number of its key. `behind`: how many had not in time. */
int cb_subscribers_wait(const cb_process *process, const uint32_t *sequences, uint32_t keys, uint32_t timeout_ms,
                        uint32_t *behind);
int cb_subscribers_begin(const cb_process *process);
int cb_subscribers_received(const cb_process *process, cb_received *received);
int cb_subscribers_disconnect(const cb_process *process);

/*
 * Publishers. Script: the kind of their connection (CB_POLL for HTTP, CB_LINES for a protocol whose request is answered
 * by PONG); bytes to send after connecting, with CB_LINES; the number of templates and the templates: complete
 * requests with a stamp.
 */
int cb_publishers_fork(cb_process *process);
int cb_publishers_script(const cb_process *process, const uint8_t *bytes, size_t count);
int cb_publishers_connect(const cb_process *process, uint16_t port, uint32_t count);
/* Publishes one template and waits for the response. */
int cb_publishers_publish(const cb_process *process, uint32_t template, uint32_t *sequence, uint64_t *taken_us);
/* Publishes the templates in turn with all connections, one request at a time each, for this time; 0: each template
 * once. Responses outside of 200 to 299 count as refused. */
int cb_publishers_run(const cb_process *process, uint32_t duration_ms, uint64_t *published, uint32_t *refused);
/* The number of the last result published, of each template. */
int cb_publishers_sequences(const cb_process *process, uint32_t *sequences, uint32_t templates);

/* The baseline server of CBroadcaster.h sends its frame with a stamp of this number. */
int cb_server_publish(const cb_process *process, uint32_t sequence);

#endif
