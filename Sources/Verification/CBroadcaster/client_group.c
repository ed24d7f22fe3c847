#define _GNU_SOURCE
#include "control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SCRIPT = 1, CONNECT, WAIT, DISCONNECT };

/* "§", which every result contains once. Its bytes occur in nothing else that a server sends: not in text and not in
 * frame headers, where they would mean a length of 49,831. */
static const uint8_t MARK[2] = {0xC2, 0xA7};

typedef struct {
    int fd;
    /* The last byte received. */
    uint8_t last;
    /* For a polling client: the latest bytes received, which contain the tag of its next request. */
    uint32_t have;
    uint8_t *tail;
} member;

enum { TAIL = 4096 };

typedef struct {
    const uint8_t *bytes;
    uint32_t count;
} text;

typedef struct {
    int control;
    int epoll;
    uint8_t *script;
    uint64_t script_bytes;
    /* The request that follows a result, before and after its entity tag; both empty if there is none. */
    text next_request[2];
    uint64_t steps_at;
    member *members;
    uint32_t count;
    uint64_t marks;
} group;

static int next_text(const group *self, uint64_t *at, text *found) {
    if (*at + 4 > self->script_bytes) return -1;
    memcpy(&found->count, self->script + *at, 4);
    *at += 4;
    if (*at + found->count > self->script_bytes) return -1;
    found->bytes = self->script + *at;
    *at += found->count;
    return 0;
}

/* Finds the value of a header field, whose name counts without case; `name` ends with a colon and a blank. */
static uint8_t *field(member *one, const char *name) {
    size_t size = strlen(name);
    uint8_t *at = one->tail, *end = at + one->have;
    while ((at = memmem(at, (size_t)(end - at), "\r\n", 2))) {
        at += 2;
        if ((size_t)(end - at) > size && strncasecmp((const char *)at, name, size) == 0) return at + size;
    }
    return NULL;
}

/* Sends the next request of a polling client, with the tag of its current result. */
static int poll_again(group *self, member *one) {
    uint8_t *tag = field(one, "etag: ");
    if (!tag) return -1;
    uint8_t *end = memchr(tag, '\r', one->have - (size_t)(tag - one->tail));
    uint8_t request[TAIL];
    if (!end) return -1;
    size_t size = (size_t)(end - tag);
    if (self->next_request[0].count + size + self->next_request[1].count > sizeof request) return -1;
    memcpy(request, self->next_request[0].bytes, self->next_request[0].count);
    memcpy(request + self->next_request[0].count, tag, size);
    memcpy(request + self->next_request[0].count + size, self->next_request[1].bytes, self->next_request[1].count);
    one->have = 0;
    return cb_write_all(one->fd, request, self->next_request[0].count + size + self->next_request[1].count);
}

static int take(group *self, member *one, const uint8_t *bytes, size_t count) {
    if (self->next_request[0].count > 0) {
        if (one->have + count > TAIL) return -1;
        memcpy(one->tail + one->have, bytes, count);
        one->have += (uint32_t)count;
    }
    const uint8_t *at = bytes, *end = bytes + count;
    while ((at = memchr(at, MARK[1], (size_t)(end - at)))) {
        int is_mark = (at == bytes ? one->last : at[-1]) == MARK[0];
        at++;
        if (!is_mark) continue;
        self->marks++;
        if (self->next_request[0].count > 0 && poll_again(self, one) != 0) return -1;
    }
    one->last = end[-1];
    return 0;
}

static int open_one(group *self, member *one, uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    static uint8_t buffer[65536];
    int flag = 1;
    memset(one, 0, sizeof *one);
    one->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one->fd < 0) return -1;
    if (self->next_request[0].count > 0 && !(one->tail = malloc(TAIL))) return -1;
    setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &flag, sizeof flag);
    if (connect(one->fd, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    for (uint64_t at = self->steps_at; at < self->script_bytes;) {
        text send, until;
        if (next_text(self, &at, &send) != 0 || next_text(self, &at, &until) != 0) return -1;
        if (cb_write_all(one->fd, send.bytes, send.count) != 0) return -1;
        size_t have = 0;
        while (until.count > 0 && !memmem(buffer, have, until.bytes, until.count)) {
            struct pollfd wait = {one->fd, POLLIN, 0};
            if (poll(&wait, 1, 10000) <= 0) return -1;
            ssize_t n = read(one->fd, buffer + have, sizeof buffer - have);
            if (n <= 0) return -1;
            if (take(self, one, buffer + have, (size_t)n) != 0) return -1;
            have += (size_t)n;
        }
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = one}};
    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, one->fd, &event);
}

static void close_all(group *self) {
    struct linger now = {1, 0}; /* a reset leaves no TIME_WAIT behind */
    for (uint32_t i = 0; i < self->count; i++) {
        setsockopt(self->members[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(self->members[i].fd);
        free(self->members[i].tail);
    }
    self->count = 0;
}

static int connect_all(group *self, uint32_t count, uint16_t port) {
    self->members = realloc(self->members, count * sizeof *self->members);
    if (!self->members) return -1;
    self->marks = 0;
    for (self->count = 0; self->count < count; self->count++) {
        if (open_one(self, &self->members[self->count], port) != 0) return -1;
    }
    return 0;
}

static int wait_until(group *self, uint64_t marks) {
    static uint8_t buffer[65536];
    struct epoll_event events[256];
    while (self->marks < marks) {
        int ready = epoll_wait(self->epoll, events, 256, 60000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        for (int i = 0; i < ready; i++) {
            member *one = events[i].data.ptr;
            size_t room = self->next_request[0].count > 0 ? TAIL - one->have : sizeof buffer;
            ssize_t n = read(one->fd, buffer, room);
            if (n <= 0 || take(self, one, buffer, (size_t)n) != 0) return -1;
        }
    }
    return 0;
}

static int read_script(group *self, uint64_t bytes) {
    self->script = realloc(self->script, bytes);
    if (!self->script) return -1;
    for (self->script_bytes = 0; self->script_bytes < bytes;) {
        ssize_t n = read(self->control, self->script + self->script_bytes, bytes - self->script_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        self->script_bytes += (uint64_t)n;
    }
    self->steps_at = 0;
    if (next_text(self, &self->steps_at, &self->next_request[0]) != 0) return -1;
    return next_text(self, &self->steps_at, &self->next_request[1]);
}

static void serve(group *self) {
    cb_message message;
    while (cb_get(self->control, &message, -1) == 0) {
        int failed = 0;
        switch (message.command) {
        case SCRIPT: failed = read_script(self, message.b); break;
        case CONNECT: failed = connect_all(self, message.a, (uint16_t)message.b); break;
        case WAIT: failed = wait_until(self, message.b); break;
        case DISCONNECT: close_all(self); break;
        default: return;
        }
        if (cb_put(self->control, failed ? 0 : message.command, 0, self->marks) != 0) return;
    }
}

int cb_group_fork(cb_process *process) {
    group self = {0};
    int side = cb_fork(process, &self.control);
    if (side <= 0) return side;
    cb_raise_descriptor_limit();
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self.epoll >= 0) serve(&self);
    _exit(0);
}

int cb_group_script(const cb_process *process, const uint8_t *bytes, size_t count) {
    cb_message answer;
    if (cb_put(process->control, SCRIPT, 0, count) != 0 || cb_write_all(process->control, bytes, count) != 0) return -1;
    return cb_get(process->control, &answer, 10000) == 0 && answer.command == SCRIPT ? 0 : -1;
}

int cb_group_connect(const cb_process *process, uint16_t port, uint32_t connections) {
    return cb_ask(process->control, CONNECT, connections, port, 300000, NULL);
}

int cb_group_wait(const cb_process *process, uint64_t marks, uint32_t timeout_ms) {
    return cb_ask(process->control, WAIT, 0, marks, (int)timeout_ms, NULL);
}

int cb_group_disconnect(const cb_process *process) {
    return cb_ask(process->control, DISCONNECT, 0, 0, 60000, NULL);
}
