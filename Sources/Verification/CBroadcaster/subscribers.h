#ifndef CBROADCASTER_SUBSCRIBERS_H
#define CBROADCASTER_SUBSCRIBERS_H

#include "stamp.h"

enum { HEAD_MAX = 4096, REQUEST_MAX = 1024, CONTROL_MAX = 125, PARTS_MAX = 8, SAMPLES_MAX = 8 * 1024 * 1024 };

/* One connection. */
typedef struct {
    int fd;
    uint32_t key;
    /* The number of the last result; 0 before the first. */
    uint32_t sequence;
    uint8_t is_behind;
    uint8_t is_lost;
    /* The bytes of a stamp that may have begun. */
    uint8_t stamp_have;
    uint8_t stamp[CB_STAMP_BYTES];
    /* CB_WEBSOCKET: the position in the stream of frames, and the payload of a control frame. */
    uint8_t header[10];
    uint8_t header_have;
    uint8_t control_have;
    uint8_t control[CONTROL_MAX];
    /* CB_WEBSOCKET, CB_POLL: what is missing of the payload or body. */
    uint64_t left;
    /* CB_POLL: the head that arrives, its status, and the request to send or sent. */
    int status;
    uint32_t head_have;
    uint32_t request_bytes;
    uint8_t *head;
    uint8_t *request;
    /* The time at which a refused request is repeated; 0: none is. */
    uint64_t retry_at_us;
} cb_subscriber;

typedef struct {
    cb_text text;
    cb_text field;
} cb_part;

typedef struct {
    int control;
    int epoll;
    uint16_t port;
    cb_script script;
    uint64_t steps_at;
    uint32_t kind;
    cb_text placeholder;
    cb_text *keys;
    uint32_t key_count;
    cb_part parts[PARTS_MAX];
    uint32_t part_count;
    cb_subscriber *members;
    uint32_t count;
    /* The time of the reading that is being processed. */
    uint64_t now_us;
    /* Subscribers whose refused request waits. */
    uint32_t retrying;
    /* What the parent waits for: the numbers per key, how many subscribers have not theirs, and how many of these have
     * lost their connection. */
    uint32_t *targets;
    uint32_t behind;
    uint32_t behind_lost;
    cb_received received;
    float *samples;
    uint64_t sample_count;
} cb_subscribers;

/* Copies a text of the script with the subscriber's key in place of the placeholder; returns its length or 0. */
size_t cb_fill(const cb_subscribers *self, const cb_subscriber *one, cb_text text, uint8_t *bytes, size_t size);

/* Each takes what one connection received; returns -1 if the connection is of no use any more. */
int cb_take_frames(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count);
int cb_take_responses(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count);
int cb_take_lines(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count);

/* Connects all; the port and the connections per second (from bit 16) are packed. */
int cb_connect_all(cb_subscribers *self, uint32_t count, uint64_t packed);
void cb_disconnect_all(cb_subscribers *self);
/* Reads what has come. Returns whether the parent has sent a command. */
int cb_pump(cb_subscribers *self, int timeout_ms);

/* The seconds of a Retry-After, in microseconds; a second if there is none. */
uint64_t cb_retry_after_us(const uint8_t *head, size_t count);

#endif
