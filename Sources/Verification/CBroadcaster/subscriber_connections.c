#define _GNU_SOURCE
#include "control.h"
#include "subscribers.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ATTEMPTS_MAX = 30, HANDSHAKE_MS = 30000 };

size_t cb_fill(const cb_subscribers *self, const cb_subscriber *one, cb_text text, uint8_t *bytes, size_t size) {
    if (text.count > size) return 0;
    memcpy(bytes, text.bytes, text.count);
    uint8_t *at = bytes, *end = bytes + text.count;
    while (self->placeholder.count > 0 &&
           (at = memmem(at, (size_t)(end - at), self->placeholder.bytes, self->placeholder.count))) {
        memcpy(at, self->keys[one->key].bytes, self->placeholder.count);
        at += self->placeholder.count;
    }
    return text.count;
}

static int take(cb_subscribers *self, cb_subscriber *one, const uint8_t *bytes, size_t count) {
    switch (self->kind) {
    case CB_WEBSOCKET: return cb_take_frames(self, one, bytes, count);
    case CB_POLL: return cb_take_responses(self, one, bytes, count);
    default: return cb_take_lines(self, one, bytes, count);
    }
}

static int watch(cb_subscribers *self, cb_subscriber *one) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = one}};
    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, one->fd, &event);
}

static void lose(cb_subscribers *self, cb_subscriber *one) {
    if (one->fd >= 0) close(one->fd);
    one->fd = -1;
    one->is_lost = 1;
    self->received.lost++;
    if (one->is_behind) self->behind_lost++;
}

/* Sends a polling client's request again, on a new connection if the server closed the last one. */
static void send_again(cb_subscribers *self, cb_subscriber *one) {
    if (one->fd < 0) {
        one->fd = cb_connect(self->port);
        if (one->fd < 0 || watch(self, one) != 0) return lose(self, one);
        self->received.reopened++;
    }
    if (cb_write_all(one->fd, one->request, one->request_bytes) != 0) lose(self, one);
}

static void receive(cb_subscribers *self, cb_subscriber *one) {
    static uint8_t buffer[65536];
    ssize_t n = read(one->fd, buffer, sizeof buffer);
    self->now_us = cb_now_us();
    if (n > 0) {
        if (take(self, one, buffer, (size_t)n) != 0) lose(self, one);
        return;
    }
    /* A server may close a kept connection between a response and the next request. */
    if (self->kind != CB_POLL || one->head_have > 0 || one->left > 0) return lose(self, one);
    close(one->fd);
    one->fd = -1;
    if (one->retry_at_us == 0) send_again(self, one);
}

static void repeat_refused(cb_subscribers *self) {
    uint64_t now = cb_now_us();
    for (uint32_t i = 0; self->retrying > 0 && i < self->count; i++) {
        cb_subscriber *one = &self->members[i];
        if (one->retry_at_us == 0 || one->retry_at_us > now) continue;
        one->retry_at_us = 0;
        self->retrying--;
        if (!one->is_lost) send_again(self, one);
    }
}

int cb_pump(cb_subscribers *self, int timeout_ms) {
    struct epoll_event events[256];
    int is_command = 0, ready = epoll_wait(self->epoll, events, 256, timeout_ms);
    for (int i = 0; i < ready; i++) {
        cb_subscriber *one = events[i].data.ptr;
        if (!one) is_command = 1;
        else if (one->fd >= 0) receive(self, one);
    }
    if (self->retrying > 0) repeat_refused(self);
    return is_command;
}

static void pump_until(cb_subscribers *self, uint64_t time_us) {
    for (uint64_t now; (now = cb_now_us()) < time_us;) cb_pump(self, (int)((time_us - now) / 1000) + 1);
}

/* Makes a handshake. Returns 0, -1, or 1 if the server refused it; `retry_us` is then its Retry-After. */
static int handshake(cb_subscribers *self, cb_subscriber *one, uint64_t *retry_us) {
    static uint8_t buffer[65536];
    int is_first = self->kind == CB_WEBSOCKET;
    cb_text send, until;
    for (self->script.at = self->steps_at; self->script.at < self->script.count; is_first = 0) {
        if (cb_next_text(&self->script, &send) != 0 || cb_next_text(&self->script, &until) != 0) return -1;
        size_t have = 0, taken = 0, size = cb_fill(self, one, send, buffer, sizeof buffer);
        if (size == 0 || cb_write_all(one->fd, buffer, size) != 0) return -1;
        if (self->kind == CB_POLL) {
            if (size > REQUEST_MAX) return -1;
            memcpy(one->request, buffer, size);
            one->request_bytes = (uint32_t)size;
        }
        for (const uint8_t *end = NULL; until.count > 0 && !end;) {
            struct pollfd wait = {one->fd, POLLIN, 0};
            if (have == sizeof buffer || poll(&wait, 1, HANDSHAKE_MS) <= 0) return -1;
            ssize_t n = read(one->fd, buffer + have, sizeof buffer - have);
            if (n <= 0) return -1;
            have += (size_t)n;
            end = memmem(buffer, have, until.bytes, until.count);
            if (is_first && !end) continue;
            if (is_first) {
                *retry_us = cb_retry_after_us(buffer, have);
                if (memcmp(buffer, "HTTP/1.1 101", 12) != 0) return memcmp(buffer, "HTTP/1.1 503", 12) ? -1 : 1;
                taken = (size_t)(end + until.count - buffer);
            }
            self->now_us = cb_now_us();
            if (have > taken && take(self, one, buffer + taken, have - taken) != 0) return -1;
            taken = have;
        }
    }
    return 0;
}

static int open_one(cb_subscribers *self, uint32_t index) {
    cb_subscriber *one = &self->members[index];
    uint64_t retry_us = 0;
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        *one = (cb_subscriber){.key = index % self->key_count};
        one->fd = cb_connect(self->port);
        if (one->fd < 0) return -1;
        if (self->kind == CB_POLL) {
            one->head = malloc(HEAD_MAX);
            one->request = malloc(REQUEST_MAX);
            if (!one->head || !one->request) return -1;
        }
        int answer = handshake(self, one, &retry_us);
        if (answer <= 0) return answer == 0 ? watch(self, one) : -1;
        self->received.refused++;
        close(one->fd);
        one->fd = -1;
        pump_until(self, cb_now_us() + retry_us);
    }
    return -1;
}

void cb_disconnect_all(cb_subscribers *self) {
    struct linger now = {1, 0}; /* a reset leaves no TIME_WAIT behind */
    for (uint32_t i = 0; i < self->count; i++) {
        cb_subscriber *one = &self->members[i];
        free(one->head);
        free(one->request);
        if (one->fd < 0) continue;
        setsockopt(one->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(one->fd);
    }
    free(self->members);
    self->members = NULL;
    self->count = self->retrying = 0;
}

int cb_connect_all(cb_subscribers *self, uint32_t count, uint64_t packed) {
    uint64_t start = cb_now_us(), per_second = packed >> 16;
    cb_disconnect_all(self);
    self->port = (uint16_t)packed;
    self->received = (cb_received){0};
    self->behind = self->behind_lost = 0;
    self->sample_count = 0;
    /* Connections keep their address for epoll. */
    self->members = calloc(count, sizeof *self->members);
    if (!self->members || self->key_count == 0 || per_second == 0) return -1;
    for (uint32_t i = 0; i < count; i++) {
        pump_until(self, start + i * 1000000ull / per_second);
        if (i % 64 == 0) cb_pump(self, 0);
        self->count++;
        if (open_one(self, i) != 0) return -1;
    }
    return 0;
}
