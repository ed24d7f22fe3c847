"""Long-polls on one kept connection, with the same header but for If-None-Match, as a client library sends them.

    repeated_poll_client.py http://HOST:PORT TOKEN SHORT-TOKEN

Checks that each change arrives once, whether it came before or during the poll. Prints `polled`, and then waits in
polls until TOKEN is refused: `refused`. SHORT-TOKEN expires soon: `expired` once a poll is refused for it.
"""

import http.client
import json
import sys
import time
from urllib.parse import urlparse

BASE, TOKEN, SHORT = urlparse(sys.argv[1]), sys.argv[2], sys.argv[3]
PATH = "/v1/connectors/auctions"


def connect():
    return http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=20)


def send(connection, tag, token, wait=10):
    headers = {"Authorization": "Bearer " + token, "Prefer": f"wait={wait}", "If-None-Match": tag}
    connection.request("GET", PATH + "/queries/MyAccount", headers=headers)


def receive(connection):
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def save(name):
    other = connect()
    body = json.dumps({"variables": {"name": name}})
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    other.request("POST", PATH + "/mutations/SaveAccount", body=body, headers=headers)
    status, _, answer = receive(other)
    assert status == 200, answer
    other.close()


def main():
    poller = connect()
    tag, traces = '"none"', set()
    save("round 0")
    for number in range(10):
        send(poller, tag, TOKEN)
        # Every other change comes while the poll waits.
        if number > 0 and number % 2 == 1:
            save(f"round {number}")
        status, headers, body = receive(poller)
        assert status == 200, (number, status, body)
        assert json.loads(body)["data"]["user"]["name"] == f"round {number}", (number, body)
        assert headers["ETag"] != tag and headers["Content-Type"] == "application/json", headers
        assert headers["Cache-Control"] == "private, no-cache", headers
        tag = headers["ETag"]
        traces.add(headers["X-Trace-Id"])
        socket = poller.sock
        assert socket is not None, "the connection is kept"
        if number % 2 == 1:
            save(f"round {number + 1}")
    assert len(traces) == 10, traces
    # The last change came after the last poll; nothing comes after that.
    send(poller, tag, TOKEN)
    status, headers, _ = receive(poller)
    assert status == 200
    tag = headers["ETag"]
    for _ in range(3):
        send(poller, tag, TOKEN, wait=1)
        status, headers, body = receive(poller)
        assert status == 304 and body == b"", (status, body)
    # A tag of an earlier result gets the last one, whatever the connection was sent meanwhile.
    earlier = tag
    save("last")
    send(poller, tag, TOKEN)
    status, headers, _ = receive(poller)
    assert status == 200 and headers["ETag"] != earlier
    tag = headers["ETag"]
    for _ in range(2):
        send(poller, earlier, TOKEN)
        status, headers, body = receive(poller)
        assert status == 200 and headers["ETag"] == tag, (status, headers, body)
        assert json.loads(body)["data"]["user"]["name"] == "last", body
    print("polled", flush=True)
    send(poller, tag, TOKEN)
    status, _, body = receive(poller)
    assert status == 401 and b"revoked" in body, (status, body)
    send(poller, tag, TOKEN)
    assert receive(poller)[0] == 401
    print("refused", flush=True)
    begin, status = time.monotonic(), 200
    while status != 401:
        assert time.monotonic() - begin < 15, "an expired token is served"
        send(poller, '"none"' if status == 200 else tag, SHORT, wait=1)
        status, headers, _ = receive(poller)
    print("expired", flush=True)


main()
