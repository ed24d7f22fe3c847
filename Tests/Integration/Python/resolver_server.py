"""A custom resolver as a user would write it: graphql-core behind the standard library's HTTP server.

Prints its port, and the trace context and the idempotency key of each request that has one. Names are kept in memory;
the id decides what goes wrong: "slow" takes two seconds, "broken" raises, "html" answers with a page and status 500,
"large" with two megabytes, "dripping" with a head at once and then a byte each 50 ms, "ending" with half of what its
head says.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from graphql import build_schema, graphql_sync

with open(sys.argv[1], encoding="utf-8") as file:
    schema = build_schema("scalar Timestamp\n" + file.read())

names = {}


class Root:
    def person(self, info, id, locale="en"):
        if id == "slow":
            time.sleep(2)
        if id == "broken":
            raise ValueError("the profile store is down")
        return Person(id, locale)

    def rename(self, info, id, name):
        if id == "broken":
            raise ValueError("nobody is renamed today")
        names[id] = name
        return Person(id)


class Person:
    def __init__(self, id, locale="en"):
        self.id = id
        self.locale = locale

    def name(self, info):
        if self.id == "nameless":
            raise ValueError("no name")
        return names.get(self.id, "somebody") + " (" + self.locale + ")"

    def friends(self, info, first=5):
        return [Person(f"{self.id}-{number}") for number in range(first)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "traceparent" in self.headers:
            print("parent " + self.headers["traceparent"], flush=True)
        if "idempotency-key" in self.headers:
            print("key " + self.headers["idempotency-key"], flush=True)
        ids = [str(value) for value in request["variables"].values()]
        status, kind = 200, "application/json"
        if "html" in ids:
            status, kind, body = 500, "text/html", b"<h1>sorry</h1>"
        elif "large" in ids:
            body = json.dumps({"data": {"person": {"name": "x" * 2_000_000}}}).encode()
        else:
            result = graphql_sync(schema, request["query"], Root(), variable_values=request["variables"])
            body = json.dumps(result.formatted).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if "dripping" in ids:
            try:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.05)
            except OSError:
                pass
        elif "ending" in ids:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening {server.server_address[1]}", flush=True)
server.serve_forever()
