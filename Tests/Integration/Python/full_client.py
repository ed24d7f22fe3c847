"""A port with TLS whose connections are all taken: a further client is refused, though it sends nothing.

    full_client.py PORT CA_FILE CONNECTIONS_MAX
"""

import socket
import ssl
import sys
import time

port, ca, most = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context(cafile=ca)


def connect():
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), 20), server_hostname="localhost")


def status(tls, request=b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"):
    tls.sendall(request)
    answer = b""
    # Both answers are objects of JSON.
    while not answer.endswith(b"}"):
        answer += tls.recv(65_536) or b"}"
    return answer.split(b" ")[1]


held = [connect() for _ in range(most)]
assert [status(tls) for tls in held] == [b"200"] * most
start = time.monotonic()
with connect() as refused:
    # Nothing was asked.
    answer = b""
    while data := refused.recv(65_536):
        answer += data
assert answer.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1\r\n" in answer.lower(), answer
# A request's header may take 10 s to come; this was not waited for.
assert time.monotonic() - start < 5, "%.1f s" % (time.monotonic() - start)
with connect() as asking:
    assert status(asking) == b"503"
# Those that were there are not disturbed, and a place that is free again is given away.
assert [status(tls) for tls in held] == [b"200"] * most
held.pop().close()
for _ in range(100):
    with connect() as tls:
        if status(tls) == b"200":
            break
    time.sleep(0.05)
else:
    raise SystemExit("no place was free again")
print("passed", flush=True)
