#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "clocks.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENT_BYTES = 350, RESULT_BYTES = 300 };

// The receiving end of a hop or write: a thread that waits for it and records the time of arrival.
typedef struct {
    pthread_t thread;
    int is_running;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t arrivals;
    double arrived_at;
} far_end;

struct cbench_path {
    redisContext *writer;
    redisContext *reader;
    char stream[64];
    PGconn *database;
    const char *const *values;
    uint32_t count;
    int from;
    int to;
    far_end stream_end;
    far_end socket_end;
};

// Signals an arrival, or with `at` 0 that the receiving end is gone.
static void arrive(far_end *end, double at) {
    pthread_mutex_lock(&end->lock);
    end->arrived_at = at;
    end->arrivals++;
    pthread_cond_signal(&end->changed);
    pthread_mutex_unlock(&end->lock);
}

// Returns the seconds from `start` to the given arrival; negative if the receiving end is gone.
static double wait_for(far_end *end, uint64_t number, double start) {
    pthread_mutex_lock(&end->lock);
    while (end->arrivals < number) pthread_cond_wait(&end->changed, &end->lock);
    double at = end->arrived_at;
    pthread_mutex_unlock(&end->lock);
    return at - start;
}

static void *follow_stream(void *argument) {
    cbench_path *path = argument;
    char last[64] = "0-0";
    while (1) {
        redisReply *reply = redisCommand(path->reader, "XREAD BLOCK 0 STREAMS %s %s", path->stream, last);
        double at = now_seconds();
        if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 1) {
            freeReplyObject(reply);
            arrive(&path->stream_end, 0);
            return NULL;
        }
        redisReply *entries = reply->element[0]->element[1];
        snprintf(last, sizeof last, "%s", entries->element[entries->elements - 1]->element[0]->str);
        freeReplyObject(reply);
        arrive(&path->stream_end, at);
    }
}

static void *follow_socket(void *argument) {
    cbench_path *path = argument;
    char bytes[RESULT_BYTES];
    while (recv(path->to, bytes, sizeof bytes, MSG_WAITALL) == RESULT_BYTES) arrive(&path->socket_end, now_seconds());
    arrive(&path->socket_end, 0);
    return NULL;
}

static int start(far_end *end, void *(*body)(void *), cbench_path *path) {
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->changed, NULL);
    end->is_running = pthread_create(&end->thread, NULL, body, path) == 0;
    return end->is_running ? 0 : -1;
}

// Opens both ends of a TCP connection over 127.0.0.1.
static int open_loopback(cbench_path *path) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    path->to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && path->to >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 &&
        listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
        connect(path->to, (struct sockaddr *)&address, length) == 0)
        path->from = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (listener >= 0) close(listener);
    if (path->from < 0) return -1;
    return setsockopt(path->from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int prepare(PGconn *database, const char *sql) {
    if (PQstatus(database) != CONNECTION_OK) return -1;
    PGresult *result = PQprepare(database, "read", sql, 0, NULL);
    int status = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;
    PQclear(result);
    return status;
}

cbench_path *cbench_path_open(uint16_t redis_port, const char *stream, const char *database, const char *sql,
                              const char *const *values, uint32_t count) {
    cbench_path *path = calloc(1, sizeof *path);
    if (path == NULL) return NULL;
    path->from = path->to = -1;
    path->values = values;
    path->count = count;
    snprintf(path->stream, sizeof path->stream, "%s", stream);
    path->writer = redisConnect("127.0.0.1", redis_port);
    path->reader = redisConnect("127.0.0.1", redis_port);
    path->database = PQconnectdb(database);
    if (path->writer != NULL && path->writer->err == 0 && path->reader != NULL && path->reader->err == 0 &&
        prepare(path->database, sql) == 0 && open_loopback(path) == 0 &&
        start(&path->stream_end, follow_stream, path) == 0 && start(&path->socket_end, follow_socket, path) == 0)
        return path;
    cbench_path_close(path);
    return NULL;
}

int cbench_path_hop(cbench_path *path, double *seconds) {
    static const char event[EVENT_BYTES] = {'e'};
    uint64_t number = path->stream_end.arrivals + 1;
    double start = now_seconds();
    redisReply *reply = redisCommand(path->writer, "XADD %s MAXLEN ~ 1000 * e %b", path->stream, event, sizeof event);
    int is_appended = reply != NULL && reply->type == REDIS_REPLY_STRING;
    freeReplyObject(reply);
    if (!is_appended) return -1;
    *seconds = wait_for(&path->stream_end, number, start);
    return *seconds > 0 ? 0 : -1;
}

int cbench_path_read(cbench_path *path, double *seconds) {
    double start = now_seconds();
    PGresult *result = PQexecPrepared(path->database, "read", (int)path->count, path->values, NULL, NULL, 0);
    *seconds = now_seconds() - start;
    int status = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 ? 0 : -1;
    PQclear(result);
    return status;
}

int cbench_path_write(cbench_path *path, double *seconds) {
    static const char result[RESULT_BYTES] = {'r'};
    uint64_t number = path->socket_end.arrivals + 1;
    double start = now_seconds();
    if (send(path->from, result, sizeof result, MSG_NOSIGNAL) != RESULT_BYTES) return -1;
    *seconds = wait_for(&path->socket_end, number, start);
    return *seconds > 0 ? 0 : -1;
}

static void stop(far_end *end) {
    if (end->is_running) pthread_join(end->thread, NULL);
}

void cbench_path_close(cbench_path *path) {
    // Ends the reads in which both threads wait.
    if (path->reader != NULL) shutdown(path->reader->fd, SHUT_RDWR);
    if (path->from >= 0) shutdown(path->from, SHUT_RDWR);
    stop(&path->stream_end);
    stop(&path->socket_end);
    if (path->writer != NULL) redisFree(path->writer);
    if (path->reader != NULL) redisFree(path->reader);
    PQfinish(path->database);
    if (path->from >= 0) close(path->from);
    if (path->to >= 0) close(path->to);
    free(path);
}
