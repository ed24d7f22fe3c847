#ifndef CBROADCASTER_CONTROL_H
#define CBROADCASTER_CONTROL_H

#include "CBroadcaster.h"

/* A command or response on the control socket; the command defines the meaning of the numbers. */
typedef struct {
    uint32_t command;
    uint32_t a;
    uint64_t b;
} cb_message;

int cb_fork(cb_process *process, int *control);
int cb_put(int fd, uint32_t command, uint32_t a, uint64_t b);
int cb_get(int fd, cb_message *message, int timeout_ms);
int cb_ask(int fd, uint32_t command, uint32_t a, uint64_t b, int timeout_ms, cb_message *answer);
int cb_write_all(int fd, const void *bytes, size_t count);

#endif
