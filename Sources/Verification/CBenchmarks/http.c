#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "clocks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 64 * 1024, LATENCIES_MAX = 4 * 1024 * 1024 };

typedef struct {
    int fd;
    double sent_at;
    size_t used;
    char answer[ANSWER_BYTES_MAX + 1];
} caller;

typedef struct {
    const char *const *requests;
    const size_t *lengths;
    uint32_t request_count;
    uint32_t next;
} work;

static int open_connection(uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

// A request is far smaller than the socket's empty buffer, so it is sent in one call.
static int send_next(caller *caller, work *work) {
    uint32_t index = work->next;
    work->next = (index + 1) % work->request_count;
    caller->used = 0;
    caller->sent_at = now_seconds();
    ssize_t sent = send(caller->fd, work->requests[index], work->lengths[index], MSG_NOSIGNAL);
    return sent == (ssize_t)work->lengths[index] ? 0 : -1;
}

// Returns 1 if the response is complete, 0 if not yet, -1 if it is invalid.
static int is_complete(caller *caller) {
    caller->answer[caller->used] = 0;
    char *end = strstr(caller->answer, "\r\n\r\n");
    if (end == NULL) return caller->used == ANSWER_BYTES_MAX ? -1 : 0;
    *end = 0;
    char *field = strcasestr(caller->answer, "\r\ncontent-length:");
    size_t length = field == NULL ? 0 : strtoul(field + strlen("\r\ncontent-length:"), NULL, 10);
    *end = '\r';
    size_t whole = (size_t)(end - caller->answer) + 4 + length;
    if (whole > ANSWER_BYTES_MAX || caller->used > whole) return -1;
    return caller->used == whole;
}

static int ascending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static int run(int poll, caller *callers, uint32_t connections, work *work, double warm_seconds, double seconds,
               float *latencies, cbench_http_outcome *outcome) {
    struct epoll_event events[128];
    double start = now_seconds(), counting = start + warm_seconds;
    uint64_t cpu_start = thread_cpu_us();
    int is_counting = 0;
    for (uint32_t index = 0; index < connections; index++)
        if (send_next(&callers[index], work) != 0) return -1;
    for (;;) {
        int ready = epoll_wait(poll, events, 128, 5000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        double now = now_seconds();
        if (!is_counting && now >= counting) {
            is_counting = 1;
            counting = now;
            cpu_start = thread_cpu_us();
        }
        if (is_counting && now >= counting + seconds) {
            outcome->seconds = now - counting;
            outcome->cpu_us = thread_cpu_us() - cpu_start;
            return 0;
        }
        for (int index = 0; index < ready; index++) {
            caller *caller = events[index].data.ptr;
            ssize_t got = recv(caller->fd, caller->answer + caller->used, ANSWER_BYTES_MAX - caller->used, 0);
            if (got <= 0) return -1;
            caller->used += (size_t)got;
            int complete = is_complete(caller);
            if (complete < 0) return -1;
            if (!complete) continue;
            if (is_counting) {
                if (outcome->answered < LATENCIES_MAX)
                    latencies[outcome->answered] = (float)(now_seconds() - caller->sent_at);
                outcome->answered++;
                if (strncmp(caller->answer, "HTTP/1.1 200", 12) != 0) outcome->refused++;
            }
            if (send_next(caller, work) != 0) return -1;
        }
    }
}

int cbench_http_loop(uint16_t port, const char *const *requests, const size_t *lengths, uint32_t request_count,
                     uint32_t connections, double warm_seconds, double seconds, cbench_http_outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    caller *callers = calloc(connections, sizeof *callers);
    float *latencies = malloc(LATENCIES_MAX * sizeof *latencies);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    int result = callers == NULL || latencies == NULL || poll < 0 ? -1 : 0;
    uint32_t opened = 0;
    for (; result == 0 && opened < connections; opened++) {
        caller *caller = &callers[opened];
        caller->fd = open_connection(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = caller};
        if (caller->fd < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, caller->fd, &event) != 0) result = -1;
    }
    work work = {requests, lengths, request_count, 0};
    if (result == 0)
        result = run(poll, callers, connections, &work, warm_seconds, seconds, latencies, outcome);
    if (result == 0 && outcome->answered > 0) {
        size_t count = outcome->answered < LATENCIES_MAX ? outcome->answered : LATENCIES_MAX;
        qsort(latencies, count, sizeof *latencies, ascending);
        outcome->median = latencies[count / 2];
        outcome->p99 = latencies[count * 99 / 100];
    }
    for (uint32_t index = 0; index < opened; index++)
        if (callers[index].fd >= 0) close(callers[index].fd);
    if (poll >= 0) close(poll);
    free(latencies);
    free(callers);
    return result;
}
