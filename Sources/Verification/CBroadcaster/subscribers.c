#define _GNU_SOURCE
#include "subscribers.h"
#include "control.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { SCRIPT = 1, CONNECT, WAIT, BEGIN, RECEIVED, DISCONNECT };
enum { TICK_MS = 20 };

static int read_script(cb_subscribers *self, uint64_t count) {
    cb_script *script = &self->script;
    if (cb_read_script(script, self->control, count) != 0 || cb_next_number(script, &self->kind) != 0 ||
        cb_next_text(script, &self->placeholder) != 0 || cb_next_number(script, &self->key_count) != 0)
        return -1;
    self->keys = realloc(self->keys, self->key_count * sizeof *self->keys);
    self->targets = realloc(self->targets, self->key_count * sizeof *self->targets);
    if (!self->keys || !self->targets) return -1;
    for (uint32_t i = 0; i < self->key_count; i++)
        if (cb_next_text(script, &self->keys[i]) != 0 || self->keys[i].count != self->placeholder.count) return -1;
    if (cb_next_number(script, &self->part_count) != 0 || self->part_count > PARTS_MAX) return -1;
    for (uint32_t i = 0; i < self->part_count; i++)
        if (cb_next_text(script, &self->parts[i].text) != 0 || cb_next_text(script, &self->parts[i].field) != 0)
            return -1;
    self->steps_at = script->at;
    return 0;
}

static int wait_all(cb_subscribers *self, uint64_t timeout_ms) {
    uint64_t deadline = cb_now_us() + timeout_ms * 1000;
    if (cb_read_all(self->control, self->targets, self->key_count * sizeof *self->targets) != 0) return -1;
    self->behind = self->behind_lost = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        cb_subscriber *one = &self->members[i];
        one->is_behind = one->sequence < self->targets[one->key];
        self->behind += one->is_behind;
        if (one->is_behind && one->is_lost) self->behind_lost++;
    }
    while (self->behind > self->behind_lost && cb_now_us() < deadline) cb_pump(self, TICK_MS);
    return 0;
}

static int ascending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static int send_received(cb_subscribers *self) {
    uint64_t count = self->sample_count;
    qsort(self->samples, count, sizeof *self->samples, ascending);
    if (count > 0) {
        self->received.median = self->samples[count / 2];
        self->received.p99 = self->samples[count * 99 / 100];
        self->received.longest = self->samples[count - 1];
    }
    return cb_write_all(self->control, &self->received, sizeof self->received);
}

static int perform(cb_subscribers *self, cb_message *message) {
    switch (message->command) {
    case SCRIPT: return read_script(self, message->b);
    case CONNECT: return cb_connect_all(self, message->a, message->b);
    case WAIT: return wait_all(self, message->b);
    case BEGIN:
        self->received = (cb_received){0};
        self->sample_count = 0;
        return 0;
    case RECEIVED: return 0;
    default: cb_disconnect_all(self); return 0;
    }
}

static void serve(cb_subscribers *self) {
    cb_message message;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
    if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->control, &event) != 0) return;
    for (;;) {
        if (!cb_pump(self, self->retrying > 0 ? TICK_MS : -1)) continue;
        if (cb_get(self->control, &message, -1) != 0) return;
        int failed = perform(self, &message);
        if (cb_put(self->control, failed ? 0 : message.command, self->behind, 0) != 0) return;
        if (message.command == RECEIVED && send_received(self) != 0) return;
    }
}

int cb_subscribers_fork(cb_process *process) {
    cb_subscribers self = {0};
    int side = cb_fork(process, &self.control);
    if (side <= 0) return side;
    cb_raise_descriptor_limit();
    self.samples = malloc(SAMPLES_MAX * sizeof *self.samples);
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self.epoll >= 0 && self.samples) serve(&self);
    _exit(0);
}

int cb_subscribers_script(const cb_process *process, const uint8_t *bytes, size_t count) {
    return cb_send_script(process->control, SCRIPT, bytes, count);
}

int cb_subscribers_connect(const cb_process *process, uint16_t port, uint32_t count, uint32_t per_second) {
    return cb_ask(process->control, CONNECT, count, (uint64_t)per_second << 16 | port, 600000, NULL);
}

int cb_subscribers_wait(const cb_process *process, const uint32_t *sequences, uint32_t keys, uint32_t timeout_ms,
                        uint32_t *behind) {
    cb_message answer;
    if (cb_put(process->control, WAIT, 0, timeout_ms) != 0 ||
        cb_write_all(process->control, sequences, keys * sizeof *sequences) != 0 ||
        cb_get(process->control, &answer, (int)timeout_ms + 10000) != 0 || answer.command != WAIT)
        return -1;
    *behind = answer.a;
    return 0;
}

int cb_subscribers_begin(const cb_process *process) {
    return cb_ask(process->control, BEGIN, 0, 0, 60000, NULL);
}

int cb_subscribers_received(const cb_process *process, cb_received *received) {
    if (cb_ask(process->control, RECEIVED, 0, 0, 60000, NULL) != 0) return -1;
    return cb_read_all(process->control, received, sizeof *received);
}

int cb_subscribers_disconnect(const cb_process *process) {
    return cb_ask(process->control, DISCONNECT, 0, 0, 60000, NULL);
}
