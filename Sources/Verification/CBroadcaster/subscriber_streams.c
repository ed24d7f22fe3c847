#define _GNU_SOURCE
#include "control.h"
#include "subscribers.h"

#include <stdlib.h>
#include <string.h>

static void arrived(cb_subscribers *self, cb_subscriber *one) {
    uint32_t sequence;
    uint64_t time_us;
    cb_read_stamp(one->stamp, &sequence, &time_us);
    if (sequence == one->sequence) {
        self->received.repeated++;
    } else if (sequence < one->sequence) {
        self->received.backwards++;
    } else {
        self->received.deliveries++;
        one->sequence = sequence;
        if (self->sample_count < SAMPLES_MAX)
            self->samples[self->sample_count++] = (float)((double)(int64_t)(self->now_us - time_us) / 1e6);
    }
    if (one->is_behind && one->sequence >= self->targets[one->key]) {
        one->is_behind = 0;
        self->behind--;
    }
}

/* Finds the stamps in the text of results, which may come in pieces. */
static void scan(cb_subscribers *self, cb_subscriber *one, const uint8_t *at, size_t count) {
    const uint8_t *end = at + count;
    while (at < end) {
        if (one->stamp_have == 0) {
            at = memchr(at, 0xC2, (size_t)(end - at));
            if (!at) return;
        }
        one->stamp[one->stamp_have++] = *at++;
        if (one->stamp_have == 2 && one->stamp[1] != 0xA7) one->stamp_have = 0;
        if (one->stamp_have < CB_STAMP_BYTES) continue;
        one->stamp_have = 0;
        arrived(self, one);
    }
}

/* Responds to a ping. A close frame, and frames larger than a control frame may be, end the connection. */
static int end_control_frame(cb_subscriber *one, int opcode) {
    uint8_t frame[6 + CONTROL_MAX] = {0x8A, (uint8_t)(0x80 | one->control_have)};
    if (opcode == 8) return -1;
    if (opcode != 9) return 0;
    memcpy(frame + 6, one->control, one->control_have); /* a mask of zeros is valid */
    return cb_write_all(one->fd, frame, 6u + one->control_have);
}

static int end_frame(cb_subscriber *one) {
    int opcode = one->header[0] & 15;
    one->header_have = 0;
    return opcode >= 8 ? end_control_frame(one, opcode) : 0;
}

int cb_take_frames(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        if (one->left > 0) {
            size_t step = one->left < count ? (size_t)one->left : count;
            if ((one->header[0] & 15) < 8) {
                scan(self, one, bytes, step);
            } else {
                memcpy(one->control + one->control_have, bytes, step);
                one->control_have += (uint8_t)step;
            }
            one->left -= step;
            bytes += step;
            count -= step;
            if (one->left == 0 && end_frame(one) != 0) return -1;
            continue;
        }
        one->header[one->header_have++] = *bytes++;
        count--;
        if (one->header_have < 2) continue;
        uint32_t need = one->header[1] < 126 ? 2 : one->header[1] == 126 ? 4 : 10;
        if (one->header_have < need) continue;
        uint64_t length = need == 2 ? one->header[1] : 0;
        for (uint32_t i = 2; i < need; i++) length = length << 8 | one->header[i];
        if ((one->header[0] & 8) && length > CONTROL_MAX) return -1;
        one->control_have = 0;
        one->left = length;
        if (length == 0 && end_frame(one) != 0) return -1;
    }
    return 0;
}

uint64_t cb_retry_after_us(const uint8_t *head, size_t count) {
    cb_text value = cb_field(head, count, "retry-after", 11);
    return (value.count > 0 ? strtoul((const char *)value.bytes, NULL, 10) : 1) * 1000000u;
}

/* Makes the request that follows a result, with that result's fields; if one is missing, the request stays. */
static int make_next_request(cb_subscribers *self, cb_subscriber *one) {
    uint8_t request[REQUEST_MAX];
    size_t size = 0;
    for (uint32_t i = 0; i < self->part_count; i++) {
        const cb_part *part = &self->parts[i];
        size_t filled = cb_fill(self, one, part->text, request + size, sizeof request - size);
        if (filled == 0) return -1;
        size += filled;
        if (part->field.count == 0) continue;
        cb_text value = cb_field(one->head, one->head_have, (const char *)part->field.bytes, part->field.count);
        if (!value.bytes) return 0;
        if (size + value.count > sizeof request) return -1;
        memcpy(request + size, value.bytes, value.count);
        size += value.count;
    }
    memcpy(one->request, request, size);
    one->request_bytes = (uint32_t)size;
    return 0;
}

static int begin_response(cb_subscribers *self, cb_subscriber *one) {
    cb_text length = cb_field(one->head, one->head_have, "content-length", 14);
    if (one->head_have < 16) return -1;
    one->status = atoi((const char *)one->head + 9);
    one->left = length.count > 0 ? strtoul((const char *)length.bytes, NULL, 10) : 0;
    if (one->status == 304) one->left = 0;
    if (one->status == 200 && length.count == 0) return -1;
    return one->status == 200 || one->status == 304 ? make_next_request(self, one) : 0;
}

static int end_response(cb_subscribers *self, cb_subscriber *one) {
    uint32_t head = one->head_have;
    one->head_have = 0;
    if (one->status == 200 || one->status == 304) return cb_write_all(one->fd, one->request, one->request_bytes);
    if (one->status != 503 && one->status != 429) return -1;
    self->received.refused++;
    self->retrying++;
    one->retry_at_us = self->now_us + cb_retry_after_us(one->head, head);
    return 0;
}

int cb_take_responses(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        if (one->left > 0) {
            size_t step = one->left < count ? (size_t)one->left : count;
            if (one->status == 200) scan(self, one, bytes, step);
            one->left -= step;
            bytes += step;
            count -= step;
            if (one->left == 0 && end_response(self, one) != 0) return -1;
            continue;
        }
        size_t before = one->head_have, room = HEAD_MAX - before, step = room < count ? room : count;
        if (step == 0) return -1;
        memcpy(one->head + before, bytes, step);
        size_t from = before > 3 ? before - 3 : 0;
        const uint8_t *end = memmem(one->head + from, before + step - from, "\r\n\r\n", 4);
        if (end) step = (size_t)(end + 4 - one->head) - before;
        one->head_have = (uint32_t)(before + step);
        bytes += step;
        count -= step;
        if (!end) continue;
        if (begin_response(self, one) != 0) return -1;
        if (one->left == 0 && end_response(self, one) != 0) return -1;
    }
    return 0;
}

int cb_take_lines(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count) {
    scan(self, one, bytes, count);
    return memmem(bytes, count, "PING\r\n", 6) ? cb_write_all(one->fd, "PONG\r\n", 6) : 0;
}
