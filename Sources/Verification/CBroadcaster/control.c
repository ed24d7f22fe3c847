#define _GNU_SOURCE
#include "control.h"

#include <malloc.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks a child that ends when the control socket closes. Returns 0 in the parent, 1 in the child, -1 on failure;
 * `control` receives the child's end of the control socket. */
int cb_fork(cb_process *process, int *control) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    if (pid == 0) {
        close(ends[0]);
        signal(SIGPIPE, SIG_IGN);
        *control = ends[1];
        return 1;
    }
    close(ends[1]);
    process->pid = pid;
    process->control = ends[0];
    return 0;
}

int cb_write_all(int fd, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n;
        count -= (size_t)n;
    }
    return 0;
}

int cb_put(int fd, uint32_t command, uint32_t a, uint64_t b) {
    cb_message message = {command, a, b};
    return cb_write_all(fd, &message, sizeof message);
}

int cb_get(int fd, cb_message *message, int timeout_ms) {
    char *at = (char *)message;
    size_t left = sizeof *message;
    while (left > 0) {
        struct pollfd wait = {fd, POLLIN, 0};
        int ready = poll(&wait, 1, timeout_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        ssize_t n = read(fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n;
        left -= (size_t)n;
    }
    return 0;
}

int cb_ask(int fd, uint32_t command, uint32_t a, uint64_t b, int timeout_ms, cb_message *answer) {
    cb_message own;
    if (!answer) answer = &own;
    if (cb_put(fd, command, a, b) != 0 || cb_get(fd, answer, timeout_ms) != 0) return -1;
    return answer->command == command ? 0 : -1;
}

void cb_stop(cb_process *process) {
    if (process->pid <= 0) return;
    close(process->control);
    kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
    process->pid = 0;
}

uint64_t cb_own_cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

uint64_t cb_own_resident_bytes(void) {
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    int fields = fscanf(file, "%lu %lu", &size, &resident);
    fclose(file);
    return fields == 2 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t cb_own_allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

int cb_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

void cb_trim_memory(void) {
    malloc_trim(0);
}
