#ifndef CBROADCASTER_H
#define CBROADCASTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The two ends that the fan-out benchmark compares the server with and by, each in a process of its own, so that the
 * kernel accounts their CPU time apart. Fork them before the caller starts threads.
 *
 *   client   opens N WebSocket connections to 127.0.0.1, sends a text message on each, and counts whole frames
 *   server   answers N handshakes and then sends one prepared frame to all of them with plain blocking send(2)
 *
 * Functions return 0, or -1 when the other process failed or did not answer within the time given.
 */

typedef struct {
    pid_t pid;
    int control;
} cb_process;

/* Client. `message` is sent as one masked text frame after each handshake; NULL: nothing is sent. */
int cb_client_fork(cb_process *process, const char *path, const char *message);
int cb_client_connect(const cb_process *process, uint16_t port, uint32_t connections);
/* Waits until `frames` whole frames have arrived on all connections together since connecting. */
int cb_client_wait(const cb_process *process, uint64_t frames, uint32_t timeout_ms);
/* Closes the connections; the client can connect again. */
int cb_client_disconnect(const cb_process *process);

/* Bare broadcaster. */
int cb_server_fork(cb_process *process, const uint8_t *frame, size_t frame_bytes, uint16_t *port);
/* Begins to accept `connections`; connect the client, then wait. */
int cb_server_accept(const cb_process *process, uint32_t connections);
int cb_server_accepted(const cb_process *process);
/* Sends the frame to every connection once; returns when the kernel has it all. */
int cb_server_round(const cb_process *process);
/* User and system CPU time of the server process so far, in microseconds. */
int cb_server_cpu_us(const cb_process *process, uint64_t *cpu_us);

/*
 * Crowd: clients of any protocol. A script is a run of texts, each after its length (32 bits of this machine): what
 * follows each result before and after the entity tag of that result, both empty for clients that only listen; then, any
 * number of times, bytes to send and a text to wait for (empty: go on at once). A result is counted by the one "§" in it.
 */
int cb_crowd_fork(cb_process *process);
int cb_crowd_script(const cb_process *process, const uint8_t *bytes, size_t count);
int cb_crowd_connect(const cb_process *process, uint16_t port, uint32_t connections);
/* Waits until `marks` results have arrived on all connections together since connecting. */
int cb_crowd_wait(const cb_process *process, uint64_t marks, uint32_t timeout_ms);
int cb_crowd_disconnect(const cb_process *process);

/* Ends the process and reaps it. */
void cb_stop(cb_process *process);

/* This process. */
uint64_t cb_own_cpu_us(void);
uint64_t cb_own_resident_bytes(void);
/* Gives what is free back to the kernel, so that growth starts from what is in use. */
void cb_trim_memory(void);
int cb_raise_descriptor_limit(void);

#endif
