#define _GNU_SOURCE
#include "stamp.h"
#include "control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SEQUENCE_AT = 2, SEQUENCE_DIGITS = 8, TIME_AT = 11, TIME_DIGITS = 16 };

uint64_t cb_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint8_t *cb_find_stamp(uint8_t *bytes, size_t count) {
    uint8_t *found = memmem(bytes, count, "\xC2\xA7", 2);
    return found && (size_t)(bytes + count - found) >= CB_STAMP_BYTES ? found : NULL;
}

static void write_digits(uint8_t *at, int digits, uint64_t number) {
    while (digits-- > 0) {
        at[digits] = (uint8_t)('0' + number % 10);
        number /= 10;
    }
}

static uint64_t read_digits(const uint8_t *at, int digits) {
    uint64_t number = 0;
    for (int i = 0; i < digits; i++) number = number * 10 + (uint64_t)(at[i] - '0');
    return number;
}

void cb_write_stamp(uint8_t *stamp, uint32_t sequence, uint64_t time_us) {
    write_digits(stamp + SEQUENCE_AT, SEQUENCE_DIGITS, sequence);
    write_digits(stamp + TIME_AT, TIME_DIGITS, time_us);
}

void cb_read_stamp(const uint8_t *stamp, uint32_t *sequence, uint64_t *time_us) {
    *sequence = (uint32_t)read_digits(stamp + SEQUENCE_AT, SEQUENCE_DIGITS);
    *time_us = read_digits(stamp + TIME_AT, TIME_DIGITS);
}

cb_text cb_field(const uint8_t *head, size_t count, const char *name, size_t name_bytes) {
    const uint8_t *at = head, *end = head + count;
    while ((at = memmem(at, (size_t)(end - at), "\r\n", 2))) {
        at += 2;
        if ((size_t)(end - at) <= name_bytes || at[name_bytes] != ':') continue;
        if (strncasecmp((const char *)at, name, name_bytes) != 0) continue;
        at += name_bytes + 1;
        while (at < end && *at == ' ') at++;
        const uint8_t *close = memchr(at, '\r', (size_t)(end - at));
        if (close) return (cb_text){at, (uint32_t)(close - at)};
    }
    return (cb_text){NULL, 0};
}

int cb_read_all(int fd, void *bytes, size_t count) {
    uint8_t *at = bytes;
    while (count > 0) {
        ssize_t n = read(fd, at, count);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n;
        count -= (size_t)n;
    }
    return 0;
}

int cb_read_script(cb_script *script, int fd, uint64_t count) {
    free(script->bytes);
    *script = (cb_script){malloc(count), count, 0};
    return script->bytes ? cb_read_all(fd, script->bytes, count) : -1;
}

int cb_next_number(cb_script *script, uint32_t *number) {
    if (script->at + 4 > script->count) return -1;
    memcpy(number, script->bytes + script->at, 4);
    script->at += 4;
    return 0;
}

int cb_next_text(cb_script *script, cb_text *text) {
    if (cb_next_number(script, &text->count) != 0 || script->at + text->count > script->count) return -1;
    text->bytes = script->bytes + script->at;
    script->at += text->count;
    return 0;
}

int cb_send_script(int fd, uint32_t command, const uint8_t *bytes, size_t count) {
    cb_message answer;
    if (cb_put(fd, command, 0, count) != 0 || cb_write_all(fd, bytes, count) != 0) return -1;
    return cb_get(fd, &answer, 10000) == 0 && answer.command == command ? 0 : -1;
}

int cb_connect(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}
