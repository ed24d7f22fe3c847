#define _GNU_SOURCE
#include "control.h"
#include "stamp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SCRIPT = 1, CONNECT, PUBLISH, RUN, SEQUENCES };
enum { RESPONSE_MAX = 16384, CONNECTIONS_MAX = 256, RESPONSE_TIMEOUT_MS = 30000, REOPENED_MAX = 3 };

typedef struct {
    uint8_t *bytes;
    uint32_t count;
    uint8_t *stamp;
    uint32_t sequence;
} template;

typedef struct {
    int fd;
    uint32_t template;
    /* How often it was opened again for the request that it sends. */
    uint32_t reopened;
    uint32_t have;
    uint8_t response[RESPONSE_MAX];
} publisher;

typedef struct {
    int control;
    int epoll;
    uint16_t port;
    cb_script script;
    uint32_t kind;
    cb_text opening;
    template *templates;
    uint32_t template_count;
    publisher *publishers;
    uint32_t count;
} publishers;

static int watch(publishers *self, publisher *one) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = one}};
    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, one->fd, &event);
}

/* Servers close kept connections that were idle for long: sends the request again on a new one. */
static int send_again(publishers *self, publisher *one) {
    const template *next = &self->templates[one->template];
    if (self->kind != CB_POLL || one->reopened++ == REOPENED_MAX) return -1;
    close(one->fd);
    one->fd = cb_connect(self->port);
    return one->fd < 0 || watch(self, one) != 0 ? -1 : cb_write_all(one->fd, next->bytes, next->count);
}

static int send_next(publishers *self, publisher *one) {
    template *next = &self->templates[one->template];
    one->have = one->reopened = 0;
    cb_write_stamp(next->stamp, next->sequence + 1, cb_now_us());
    return cb_write_all(one->fd, next->bytes, next->count) == 0 ? 0 : send_again(self, one);
}

/* Returns the response's status if it is complete, 0 if not yet, -1 if it is invalid. */
static int status(const publishers *self, const publisher *one) {
    if (self->kind == CB_LINES) return memmem(one->response, one->have, "PONG\r\n", 6) ? 200 : 0;
    const uint8_t *end = memmem(one->response, one->have, "\r\n\r\n", 4);
    if (!end) return one->have == RESPONSE_MAX ? -1 : 0;
    size_t head = (size_t)(end + 4 - one->response);
    cb_text length = cb_field(one->response, head, "content-length", 14);
    size_t whole = head + (length.count > 0 ? strtoul((const char *)length.bytes, NULL, 10) : 0);
    if (whole > RESPONSE_MAX || one->have > whole || head < 16) return -1;
    return one->have < whole ? 0 : atoi((const char *)one->response + 9);
}

/* Returns like `status`; a template's number goes on only if the server accepted it. */
static int receive(publishers *self, publisher *one) {
    ssize_t n = read(one->fd, one->response + one->have, RESPONSE_MAX - one->have);
    if (n <= 0) return one->have > 0 ? -1 : send_again(self, one);
    one->have += (uint32_t)n;
    int found = status(self, one);
    if (found >= 200 && found < 300) self->templates[one->template].sequence++;
    return found;
}

static int publish(publishers *self, uint32_t number, uint64_t *taken_us) {
    publisher *one = &self->publishers[0];
    uint64_t start = cb_now_us();
    int found = 0;
    if (self->count == 0 || number >= self->template_count) return -1;
    one->template = number;
    if (send_next(self, one) != 0) return -1;
    while (found == 0) found = receive(self, one);
    *taken_us = cb_now_us() - start;
    return found >= 200 && found < 300 ? 0 : -1;
}

/* The publisher with index i publishes the templates i, i + count, i + 2 · count and so on, and begins again. */
static int run(publishers *self, uint32_t duration_ms, uint64_t *published, uint32_t *refused) {
    uint64_t end = cb_now_us() + duration_ms * 1000ull;
    uint32_t active = self->count < self->template_count ? self->count : self->template_count;
    struct epoll_event events[CONNECTIONS_MAX];
    *published = 0;
    *refused = 0;
    for (uint32_t i = 0; i < active; i++) {
        self->publishers[i].template = i;
        if (send_next(self, &self->publishers[i]) != 0) return -1;
    }
    while (active > 0) {
        int ready = epoll_wait(self->epoll, events, CONNECTIONS_MAX, RESPONSE_TIMEOUT_MS);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        int is_over = duration_ms > 0 && cb_now_us() >= end;
        for (int i = 0; i < ready; i++) {
            publisher *one = events[i].data.ptr;
            int found = receive(self, one);
            if (found < 0) return -1;
            if (found == 0) continue;
            if (found >= 200 && found < 300) *published += 1;
            else *refused += 1;
            one->template += self->count;
            int is_round_over = one->template >= self->template_count;
            if (is_round_over) one->template = (uint32_t)(one - self->publishers);
            if (is_over || (duration_ms == 0 && is_round_over)) active--;
            else if (send_next(self, one) != 0) return -1;
        }
    }
    return 0;
}

static void close_all(publishers *self) {
    for (uint32_t i = 0; i < self->count; i++) close(self->publishers[i].fd);
    self->count = 0;
}

static int connect_all(publishers *self, uint32_t count, uint16_t port) {
    close_all(self);
    self->port = port;
    if (count > CONNECTIONS_MAX) return -1;
    self->publishers = realloc(self->publishers, count * sizeof *self->publishers);
    if (!self->publishers) return -1;
    for (self->count = 0; self->count < count; self->count++) {
        publisher *one = &self->publishers[self->count];
        one->have = 0;
        one->fd = cb_connect(port);
        if (one->fd < 0) return -1;
        if (self->kind == CB_LINES) {
            if (cb_write_all(one->fd, self->opening.bytes, self->opening.count) != 0) return -1;
            while (!memmem(one->response, one->have, "PONG\r\n", 6)) {
                ssize_t n = read(one->fd, one->response + one->have, RESPONSE_MAX - one->have);
                if (n <= 0) return -1;
                one->have += (uint32_t)n;
            }
        }
        if (watch(self, one) != 0) return -1;
    }
    return 0;
}

static int read_script(publishers *self, uint64_t count) {
    if (cb_read_script(&self->script, self->control, count) != 0) return -1;
    if (cb_next_number(&self->script, &self->kind) != 0 || cb_next_text(&self->script, &self->opening) != 0 ||
        cb_next_number(&self->script, &self->template_count) != 0)
        return -1;
    self->templates = realloc(self->templates, self->template_count * sizeof *self->templates);
    if (!self->templates) return -1;
    for (uint32_t i = 0; i < self->template_count; i++) {
        cb_text text;
        if (cb_next_text(&self->script, &text) != 0) return -1;
        uint8_t *bytes = self->script.bytes + (text.bytes - self->script.bytes);
        self->templates[i] = (template){bytes, text.count, cb_find_stamp(bytes, text.count), 0};
        if (!self->templates[i].stamp) return -1;
    }
    return 0;
}

static void serve(publishers *self) {
    cb_message message;
    while (cb_get(self->control, &message, -1) == 0) {
        int failed = 0;
        uint32_t a = 0;
        uint64_t b = 0;
        switch (message.command) {
        case SCRIPT: failed = read_script(self, message.b); break;
        case CONNECT: failed = connect_all(self, message.a, (uint16_t)message.b); break;
        case PUBLISH:
            failed = publish(self, message.a, &b);
            if (!failed) a = self->templates[message.a].sequence;
            break;
        case RUN: failed = run(self, message.a, &b, &a); break;
        case SEQUENCES: a = self->template_count; break;
        default: return;
        }
        if (cb_put(self->control, failed ? 0 : message.command, a, b) != 0) return;
        if (message.command != SEQUENCES) continue;
        for (uint32_t i = 0; i < self->template_count; i++)
            if (cb_write_all(self->control, &self->templates[i].sequence, sizeof(uint32_t)) != 0) return;
    }
}

int cb_publishers_fork(cb_process *process) {
    publishers self = {0};
    int side = cb_fork(process, &self.control);
    if (side <= 0) return side;
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self.epoll >= 0) serve(&self);
    _exit(0);
}

int cb_publishers_script(const cb_process *process, const uint8_t *bytes, size_t count) {
    return cb_send_script(process->control, SCRIPT, bytes, count);
}

int cb_publishers_connect(const cb_process *process, uint16_t port, uint32_t count) {
    return cb_ask(process->control, CONNECT, count, port, 60000, NULL);
}

int cb_publishers_publish(const cb_process *process, uint32_t template, uint32_t *sequence, uint64_t *taken_us) {
    cb_message answer;
    if (cb_ask(process->control, PUBLISH, template, 0, RESPONSE_TIMEOUT_MS, &answer) != 0) return -1;
    *sequence = answer.a;
    *taken_us = answer.b;
    return 0;
}

int cb_publishers_run(const cb_process *process, uint32_t duration_ms, uint64_t *published, uint32_t *refused) {
    cb_message answer;
    if (cb_ask(process->control, RUN, duration_ms, 0, (int)duration_ms + 120000, &answer) != 0) return -1;
    *published = answer.b;
    *refused = answer.a;
    return 0;
}

int cb_publishers_sequences(const cb_process *process, uint32_t *sequences, uint32_t templates) {
    cb_message answer;
    if (cb_ask(process->control, SEQUENCES, 0, 0, 10000, &answer) != 0 || answer.a != templates) return -1;
    return cb_read_all(process->control, sequences, templates * sizeof *sequences);
}
