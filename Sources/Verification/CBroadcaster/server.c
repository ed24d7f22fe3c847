#define _GNU_SOURCE
#include "control.h"
#include "stamp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPT = 1, ROUND, PUBLISH, CPU, PORT };

/* Reads one request header; later input is ignored. */
static int handshake(int fd) {
    char request[4096];
    size_t have = 0;
    while (have < sizeof request - 1) {
        ssize_t n = read(fd, request + have, sizeof request - 1 - have);
        if (n <= 0) return -1;
        have += (size_t)n;
        request[have] = 0;
        if (strstr(request, "\r\n\r\n")) {
            static const char answer[] =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
            return cb_write_all(fd, answer, sizeof answer - 1);
        }
    }
    return -1;
}

static void serve(int control, int listener, uint8_t *frame, size_t frame_bytes) {
    uint8_t *stamp = cb_find_stamp(frame, frame_bytes);
    int *connections = NULL;
    uint32_t count = 0;
    cb_message message;
    while (cb_get(control, &message, -1) == 0) {
        switch (message.command) {
        case ACCEPT:
            for (uint32_t i = 0; i < count; i++) close(connections[i]);
            connections = realloc(connections, message.a * sizeof *connections);
            if (!connections) return;
            for (count = 0; count < message.a; count++) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                int one = 1;
                if (fd < 0) return;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                if (handshake(fd) != 0) return;
                connections[count] = fd;
            }
            break;
        case PUBLISH:
            if (!stamp) return;
            cb_write_stamp(stamp, message.a, cb_now_us());
            /* fall through */
        case ROUND:
            for (uint32_t i = 0; i < count; i++) {
                if (cb_write_all(connections[i], frame, frame_bytes) != 0) return;
            }
            break;
        case CPU:
            message.b = cb_own_cpu_us();
            break;
        default:
            return;
        }
        if (cb_put(control, message.command, 0, message.b) != 0) return;
    }
}

int cb_server_fork(cb_process *process, const uint8_t *frame, size_t frame_bytes, uint16_t *port) {
    int control;
    int side = cb_fork(process, &control);
    if (side < 0) return -1;
    if (side == 0) {
        cb_message message;
        if (cb_get(process->control, &message, 10000) != 0 || message.command != PORT) return -1;
        *port = (uint16_t)message.a;
        return 0;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, 1024) == 0 && getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
        cb_put(control, PORT, ntohs(address.sin_port), 0) == 0) {
        uint8_t *own = malloc(frame_bytes);
        if (own) serve(control, listener, memcpy(own, frame, frame_bytes), frame_bytes);
    }
    _exit(0);
}

int cb_server_accept(const cb_process *process, uint32_t connections) {
    return cb_put(process->control, ACCEPT, connections, 0);
}

int cb_server_accepted(const cb_process *process) {
    cb_message answer;
    return cb_get(process->control, &answer, 60000) == 0 && answer.command == ACCEPT ? 0 : -1;
}

int cb_server_round(const cb_process *process) {
    return cb_ask(process->control, ROUND, 0, 0, 60000, NULL);
}

int cb_server_publish(const cb_process *process, uint32_t sequence) {
    return cb_ask(process->control, PUBLISH, sequence, 0, 60000, NULL);
}

int cb_server_cpu_us(const cb_process *process, uint64_t *cpu_us) {
    cb_message answer;
    if (cb_ask(process->control, CPU, 0, 0, 60000, &answer) != 0) return -1;
    *cpu_us = answer.b;
    return 0;
}
