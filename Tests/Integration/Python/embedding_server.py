"""An embedding server as others are spoken to: OpenAI's form at /v1/embeddings, that of Vertex AI at
/v1/models/NAME:predict.

Prints its port. A vector counts the words of a text, each at an index that its digest gives, and has length 1: texts
that share words are near each other. GET /asked tells what was asked for. Texts with "hang" are not answered until
GET /go. Words decide what goes wrong: "slow" takes two seconds, "broken" answers with status 500, "busy" with 429,
"page" with a page, "large" with two megabytes, "short" with a vector of three numbers, "ending" with half of what its
head says; a request that has a text with "refused" is refused as a whole. The only model is "words".
"""

import hashlib
import json
import math
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIZE = 256
token = sys.argv[1]
asked = []
go = threading.Event()


def vector(text):
    numbers = [0.0] * SIZE
    for word in text.lower().split():
        numbers[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % SIZE] += 1
    length = math.sqrt(sum(number * number for number in numbers)) or 1
    return [number / length for number in numbers[: 3 if "short" in text.split() else SIZE]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/go":
            go.set()
        self.answer(200, json.dumps(asked).encode())

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/embeddings":
            model, texts = request["model"], request["input"]
        else:
            model = self.path.removeprefix("/v1/models/").removesuffix(":predict")
            texts = [instance["content"] for instance in request["instances"]]
        asked.append(texts)
        words = [word for text in texts for word in text.split()]
        if self.headers["authorization"] != "Bearer " + token:
            return self.fail(401, "the key is " + token)
        if model != "words":
            return self.fail(404, f"there is no model {model}")
        if "refused" in words:
            return self.fail(400, "a text is too long")
        if "broken" in words:
            return self.fail(500, "out of memory")
        if "busy" in words:
            return self.fail(429, "slowly")
        if "page" in words:
            return self.answer(200, b"<h1>hello</h1>")
        if "large" in words:
            return self.answer(200, b" " * 2_000_000)
        if "hang" in words:
            go.wait()
        if "slow" in words:
            time.sleep(2)
        vectors = [vector(text) for text in texts]
        if self.path == "/v1/embeddings":
            # In no order: the index tells.
            data = [{"object": "embedding", "index": index, "embedding": item} for index, item in enumerate(vectors)]
            answer = {"object": "list", "data": data[::-1], "model": model}
        else:
            answer = {"predictions": [{"embeddings": {"values": item, "statistics": {}}} for item in vectors]}
        body = json.dumps(answer).encode()
        self.answer(200, body, len(body) // 2 if "ending" in words else len(body))

    def fail(self, status, message):
        self.answer(status, json.dumps({"error": {"message": message}}).encode())

    def answer(self, status, body, sent=None):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:sent])
        if sent is not None and sent < len(body):
            self.close_connection = True

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
print(f"listening {server.server_address[1]}", flush=True)
server.serve_forever()
