#ifndef CBROADCASTER_H
#define CBROADCASTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The client and the baseline server of the fan-out benchmark, each in its own process, so that the kernel accounts
 * their CPU time separately. Fork them before the caller starts threads.
 *
 *   client   opens N WebSocket connections to 127.0.0.1, sends a text message on each, and counts complete frames
 *   server   answers N handshakes and then sends one prepared frame to all of them with plain blocking send(2)
 *
 * Functions return 0, or -1 if the other process failed or did not respond in time.
 */

typedef struct {
    pid_t pid;
    int control;
} cb_process;

/* Client. `message` is sent as one masked text frame after each handshake; NULL sends nothing. */
int cb_client_fork(cb_process *process, const char *path, const char *message);
int cb_client_connect(const cb_process *process, uint16_t port, uint32_t connections);
/* Waits until `frames` complete frames have arrived on all connections together since connecting. */
int cb_client_wait(const cb_process *process, uint64_t frames, uint32_t timeout_ms);
/* Closes the connections; the client can connect again. */
int cb_client_disconnect(const cb_process *process);

/* Baseline server. */
int cb_server_fork(cb_process *process, const uint8_t *frame, size_t frame_bytes, uint16_t *port);
/* Starts to accept `connections`; connect the client, then wait. */
int cb_server_accept(const cb_process *process, uint32_t connections);
int cb_server_accepted(const cb_process *process);
/* Sends the frame to every connection once; returns when the kernel has accepted all bytes. */
int cb_server_round(const cb_process *process);
/* User and system CPU time of the server process so far, in microseconds. */
int cb_server_cpu_us(const cb_process *process, uint64_t *cpu_us);

/*
 * A group of clients of any protocol. A script is a sequence of texts, each preceded by its length (32 bits, native
 * byte order): first the request that follows each result, before and after that result's entity tag, both empty for
 * clients that only listen; then any number of pairs of bytes to send and a text to wait for (empty: continue at once).
 * Results are counted by the one "§" in each.
 */
int cb_group_fork(cb_process *process);
int cb_group_script(const cb_process *process, const uint8_t *bytes, size_t count);
int cb_group_connect(const cb_process *process, uint16_t port, uint32_t connections);
/* Waits until `marks` results have arrived on all connections together since connecting. */
int cb_group_wait(const cb_process *process, uint64_t marks, uint32_t timeout_ms);
int cb_group_disconnect(const cb_process *process);

/* Ends the process and reaps it. */
void cb_stop(cb_process *process);

/* For the calling process. */
uint64_t cb_own_cpu_us(void);
uint64_t cb_own_resident_bytes(void);
uint64_t cb_own_allocated_bytes(void);
/* Returns free memory to the kernel, so that growth is measured from what is in use. */
void cb_trim_memory(void);
int cb_raise_descriptor_limit(void);

#include "peers.h"

#endif
