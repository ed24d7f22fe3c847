#ifndef CBROADCASTER_STAMP_H
#define CBROADCASTER_STAMP_H

#include "peers.h"

/* A part of a script. */
typedef struct {
    const uint8_t *bytes;
    uint32_t count;
} cb_text;

typedef struct {
    uint8_t *bytes;
    uint64_t count;
    uint64_t at;
} cb_script;

uint64_t cb_now_us(void);
/* Returns the stamp in these bytes, or NULL. */
uint8_t *cb_find_stamp(uint8_t *bytes, size_t count);
void cb_write_stamp(uint8_t *stamp, uint32_t sequence, uint64_t time_us);
void cb_read_stamp(const uint8_t *stamp, uint32_t *sequence, uint64_t *time_us);

/* Returns the value of a field of a complete HTTP head, or an empty text; the name counts without case. */
cb_text cb_field(const uint8_t *head, size_t count, const char *name, size_t name_bytes);

int cb_read_all(int fd, void *bytes, size_t count);
/* Reads a script of this size from the control socket. */
int cb_read_script(cb_script *script, int fd, uint64_t count);
int cb_next_number(cb_script *script, uint32_t *number);
int cb_next_text(cb_script *script, cb_text *text);
/* Sends a command with a script and waits for its response. */
int cb_send_script(int fd, uint32_t command, const uint8_t *bytes, size_t count);

/* Connects to 127.0.0.1, without Nagle's delay. */
int cb_connect(uint16_t port);

#endif
