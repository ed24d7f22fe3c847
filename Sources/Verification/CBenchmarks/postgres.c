#define _GNU_SOURCE
#include "CBenchmarks.h"
#include "clocks.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

static int failed(PGconn *connection, PGresult *result, char *message, size_t message_size) {
    snprintf(message, message_size, "%s", PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return -1;
}

int cbench_pq_loop(const char *address, const char *sql, const char *const *values, uint32_t count, uint32_t sets,
                   uint32_t rounds, cbench_pq_outcome *outcome, char *message, size_t message_size) {
    memset(outcome, 0, sizeof *outcome);
    PGconn *connection = PQconnectdb(address);
    if (PQstatus(connection) != CONNECTION_OK) return failed(connection, NULL, message, message_size);
    PGresult *result = PQprepare(connection, "loop", sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) return failed(connection, result, message, message_size);
    PQclear(result);

    double start = now_seconds();
    uint64_t cpu_start = thread_cpu_us();
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t set = 0; set < sets; set++) {
            result = PQexecPrepared(connection, "loop", (int)count, values + (size_t)set * count, NULL, NULL, 0);
            if (PQresultStatus(result) != PGRES_TUPLES_OK) return failed(connection, result, message, message_size);
            int rows = PQntuples(result), columns = PQnfields(result);
            for (int row = 0; row < rows; row++)
                for (int column = 0; column < columns; column++)
                    if (!PQgetisnull(result, row, column)) outcome->bytes += (uint64_t)PQgetlength(result, row, column);
            outcome->rows += (uint64_t)rows;
            outcome->statements++;
            PQclear(result);
        }
    }
    outcome->seconds = now_seconds() - start;
    outcome->cpu_us = thread_cpu_us() - cpu_start;
    PQfinish(connection);
    return 0;
}
