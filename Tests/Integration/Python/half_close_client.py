"""A client that closes its side of the connection right behind its request, as `printf … | nc -N` does.

    half_close_client.py http://HOST:PORT
"""

import socket
import sys
import time

host, port = sys.argv[1].split("://")[1].split(":")
PATH = "/v1/connectors/auctions/queries/ClosingSoon"


def ask(*lines, path=PATH, before=None):
    """What comes until the server closes too. `before` must come before we close."""
    with socket.create_connection((host, int(port)), 20) as plain:
        plain.sendall("\r\n".join(["GET %s HTTP/1.1" % path, "host: x", *lines, "", ""]).encode())
        found = b""
        while before and before not in found:
            found += plain.recv(65_536)
        plain.shutdown(socket.SHUT_WR)
        while data := plain.recv(65_536):
            found += data
        return found


def field(answer, name):
    head = answer.split(b"\r\n\r\n")[0].decode().lower()
    return next(line.split(": ", 1)[1] for line in head.split("\r\n") if line.startswith(name + ": "))


answer = ask()
assert answer.startswith(b"HTTP/1.1 200 ") and b'"lots"' in answer, answer
tag = field(answer, "etag")
start = time.monotonic()
answer = ask("prefer: wait=60", "if-none-match: " + tag)
assert answer.startswith(b"HTTP/1.1 304 "), answer
answer = ask("prefer: wait=60")
assert answer.startswith(b"HTTP/1.1 200 ") and b'"lots"' in answer, answer
# A stream is over when its client says no more, whether its first result has come or not.
assert b"event: next" in ask("accept: text/event-stream", before=b"event: next")
ask("accept: text/event-stream")
assert time.monotonic() - start < 15, "somebody waited"
print("passed", flush=True)
