#define _GNU_SOURCE
#include "control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT = 1, WAIT, DISCONNECT };

/* The position of one connection in its stream of frames. */
typedef struct {
    int fd;
    uint8_t header[10];
    uint32_t header_have;
    uint64_t payload_left;
} connection;

typedef struct {
    int control;
    int epoll;
    const char *path;
    const char *message;
    connection *connections;
    uint32_t count;
    uint64_t frames;
} client;

/* Counts the frames that end in these bytes. */
static void take(client *self, connection *one, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        if (one->payload_left > 0) {
            size_t step = one->payload_left < count ? (size_t)one->payload_left : count;
            one->payload_left -= step;
            bytes += step;
            count -= step;
            if (one->payload_left == 0) self->frames++;
            continue;
        }
        one->header[one->header_have++] = *bytes++;
        count--;
        if (one->header_have < 2) continue;
        uint32_t need = one->header[1] < 126 ? 2 : one->header[1] == 126 ? 4 : 10;
        if (one->header_have < need) continue;
        uint64_t length = need == 2 ? one->header[1] : 0;
        for (uint32_t i = 2; i < need; i++) length = length << 8 | one->header[i];
        one->header_have = 0;
        one->payload_left = length;
        if (length == 0) self->frames++;
    }
}

static int send_text(int fd, const char *text) {
    uint8_t frame[6 + 125];
    size_t length = strlen(text);
    if (length > 125) return -1;
    frame[0] = 0x81;
    frame[1] = (uint8_t)(0x80 | length);
    memset(frame + 2, 0, 4); /* a mask of zeros is valid */
    memcpy(frame + 6, text, length);
    return cb_write_all(fd, frame, 6 + length);
}

static int open_one(client *self, connection *one, uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char buffer[4096];
    int length = snprintf(
        buffer, sizeof buffer,
        "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        self->path);
    int flag = 1;
    memset(one, 0, sizeof *one);
    one->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one->fd < 0) return -1;
    setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &flag, sizeof flag);
    if (connect(one->fd, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    if (cb_write_all(one->fd, buffer, (size_t)length) != 0) return -1;
    size_t have = 0;
    for (;;) {
        ssize_t n = read(one->fd, buffer + have, sizeof buffer - 1 - have);
        if (n <= 0) return -1;
        have += (size_t)n;
        buffer[have] = 0;
        char *end = strstr(buffer, "\r\n\r\n");
        if (!end) continue;
        if (strncmp(buffer, "HTTP/1.1 101", 12) != 0) return -1;
        take(self, one, (uint8_t *)end + 4, have - (size_t)(end + 4 - buffer));
        break;
    }
    if (self->message && send_text(one->fd, self->message) != 0) return -1;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = one}};
    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, one->fd, &event);
}

static void close_all(client *self) {
    struct linger now = {1, 0}; /* a reset leaves no TIME_WAIT behind */
    for (uint32_t i = 0; i < self->count; i++) {
        setsockopt(self->connections[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(self->connections[i].fd);
    }
    self->count = 0;
}

static int connect_all(client *self, uint32_t count, uint16_t port) {
    self->connections = realloc(self->connections, count * sizeof *self->connections);
    if (!self->connections) return -1;
    self->frames = 0;
    for (self->count = 0; self->count < count; self->count++) {
        if (open_one(self, &self->connections[self->count], port) != 0) return -1;
    }
    return 0;
}

/* Reads from every connection until this many frames have arrived. */
static int drain_until(client *self, uint64_t frames) {
    static uint8_t buffer[65536];
    struct epoll_event events[256];
    while (self->frames < frames) {
        int ready = epoll_wait(self->epoll, events, 256, 60000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        for (int i = 0; i < ready; i++) {
            connection *one = events[i].data.ptr;
            ssize_t n = read(one->fd, buffer, sizeof buffer);
            if (n <= 0) return -1;
            take(self, one, buffer, (size_t)n);
        }
    }
    return 0;
}

static void serve(client *self) {
    cb_message message;
    while (cb_get(self->control, &message, -1) == 0) {
        int failed = 0;
        switch (message.command) {
        case CONNECT: failed = connect_all(self, message.a, (uint16_t)message.b); break;
        case WAIT: failed = drain_until(self, message.b); break;
        case DISCONNECT: close_all(self); break;
        default: return;
        }
        if (cb_put(self->control, failed ? 0 : message.command, 0, self->frames) != 0) return;
    }
}

int cb_client_fork(cb_process *process, const char *path, const char *message) {
    client self = {.path = path, .message = message};
    int side = cb_fork(process, &self.control);
    if (side <= 0) return side;
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self.epoll >= 0) serve(&self);
    _exit(0);
}

int cb_client_connect(const cb_process *process, uint16_t port, uint32_t connections) {
    return cb_ask(process->control, CONNECT, connections, port, 120000, NULL);
}

int cb_client_wait(const cb_process *process, uint64_t frames, uint32_t timeout_ms) {
    return cb_ask(process->control, WAIT, 0, frames, (int)timeout_ms, NULL);
}

int cb_client_disconnect(const cb_process *process) {
    return cb_ask(process->control, DISCONNECT, 0, 0, 60000, NULL);
}
