"""What every session protocol does when a token runs out, a node leaves, a client does not introduce
itself, or a client is hostile; message by message.

    session_client.py expiry|leaving|limits|hostile|timeout|appsync http://HOST:PORT TOKEN

`expiry`: TOKEN runs out within seconds. `leaving`: prints "live" and waits for the node to be stopped.
"""

import asyncio
import base64
import json
import sys

import aiohttp
import websockets

QUERY = "subscription ListLots($category: String) { lots(where: {category: {eq: $category}, open: {eq: true}, " \
        "closesAt: {gt_time: {now: true}}}, orderBy: [{closesAt: ASC}], limit: 10) " \
        "{ id title category description highestBid closesAt } }"
PAYLOAD = {"query": QUERY, "operationName": "ListLots", "variables": {"category": "Ceramics"}}


def expect(actual, wanted, what):
    if actual != wanted:
        raise SystemExit("%s: %r instead of %r" % (what, actual, wanted))


class Protocol:
    """One WebSocket protocol, reduced to: introduce, start, stop, and what a message means."""

    def __init__(self, name, base, token=None):
        self.name, self.token = name, token
        self.is_appsync = name == "appsync"
        self.subprotocol = "graphql-ws" if self.is_appsync else name
        self.url = base.replace("http", "ws") + "/graphql"
        if self.is_appsync:
            header = base64.b64encode(json.dumps(self.authorization()).encode()).decode()
            self.url += "/realtime?header=%s&payload=e30=" % header

    def authorization(self):
        return {"host": "freshet", **({"Authorization": self.token} if self.token else {"x-api-key": "k"})}

    async def open(self):
        self.socket = await websockets.connect(self.url, subprotocols=[self.subprotocol])
        expect(self.socket.subprotocol, self.subprotocol, self.name)
        return self

    async def introduce(self):
        await self.open()
        payload = {"Authorization": "Bearer " + self.token} if self.token and not self.is_appsync else {}
        await self.send({"type": "connection_init", "payload": payload})
        expect((await self.receive())["type"], "connection_ack", self.name)
        return self

    async def send(self, message):
        await self.socket.send(json.dumps(message))

    async def start(self, identifier, payload=PAYLOAD):
        if self.is_appsync:
            payload = {"data": json.dumps(payload), "extensions": {"authorization": self.authorization()}}
        kind = "subscribe" if self.name == "graphql-transport-ws" else "start"
        await self.send({"id": identifier, "type": kind, "payload": payload})

    async def receive(self):
        while True:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), 15))
            if message["type"] not in ("ka", "start_ack"):
                return message

    async def live(self, identifier="1"):
        await self.start(identifier)
        message = await self.receive()
        expect((message["type"] in ("next", "data"), message["id"]), (True, identifier), "%s %r" % (self.name, message))
        self.lot = message["payload"]["data"]["lots"][0]["id"]
        return self

    async def close_code(self):
        try:
            while True:
                await asyncio.wait_for(self.socket.recv(), 15)
        except websockets.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


NAMES = ["graphql-transport-ws", "graphql-ws", "appsync"]


async def change(base, lot, description="changed"):
    async with aiohttp.ClientSession() as session:
        body = {"operationName": "EditLot",
                "variables": {"id": lot, "category": "Ceramics", "description": description}}
        async with session.post(base + "/graphql", json=body) as answer:
            assert "errors" not in await answer.json()


async def stream(session, base, accept, token=None, payload=PAYLOAD):
    headers = {"accept": accept, **({"authorization": "Bearer " + token} if token else {})}
    return await session.post(base + "/graphql", json=payload, headers=headers)


async def shared_stream(session, base, token, payloads):
    """A stream of graphql-sse's single connection mode with an operation for each payload, whose ids are 0, 1, …"""
    async with session.put(base + "/graphql") as answer:
        reserved = {"x-graphql-event-stream-token": await answer.text()}
    answer = await session.get(base + "/graphql", headers={"accept": "text/event-stream", **reserved})
    headers = {"accept": "application/json", "authorization": "Bearer " + token, **reserved}
    for identifier, payload in enumerate(payloads):
        body = {**payload, "extensions": {"operationId": str(identifier)}}
        async with session.post(base + "/graphql", json=body, headers=headers) as started:
            expect(started.status, 202, "shared stream")
    return answer


async def until(answer, wanted, text=""):
    """What the answer said until it said this."""
    while wanted not in text:
        chunk = await asyncio.wait_for(answer.content.readany(), 15)
        assert chunk, text
        text += chunk.decode()
    return text


STREAMS = ["text/event-stream", "multipart/mixed;subscriptionSpec=1.0"]


async def expiry(base, token):
    sessions = [await (await Protocol(name, base, token).introduce()).live() for name in NAMES]
    private = {"operationName": "MyAccount"}
    async with aiohttp.ClientSession() as http:
        public = [await stream(http, base, accept, token) for accept in STREAMS]
        ending = [await stream(http, base, accept, token, private) for accept in STREAMS]
        shared = await shared_stream(http, base, token, [PAYLOAD, private])
        for name, session in zip(NAMES, sessions):
            if name != "appsync":
                expect(await session.close_code(), 4403, name)
                continue
            # Its subscription is public and goes on; the token has run out all the same.
            await session.start("2")
            message = await session.receive()
            expect((message["id"], message["payload"]["errors"][0]["errorCode"]), ("2", 401), name)
        texts = [(await answer.read()).decode() for answer in ending]
        for text in texts:
            assert "UNAUTHENTICATED" in text, text
        assert texts[0].endswith("event: complete\ndata: \n\n") and texts[1].endswith("\r\n--graphql--\r\n"), texts
        text = await until(shared, "UNAUTHENTICATED")
        assert '"id":"1"' in text.split("UNAUTHENTICATED")[0].split("event: ")[-1], text
        # What needs no token goes on.
        await change(base, sessions[0].lot, "after its end")
        for answer in [*public, shared]:
            assert "UNAUTHENTICATED" not in (await until(answer, "after its end"))


async def leaving(base, token):
    sessions = [await (await Protocol(name, base).introduce()).live() for name in NAMES]
    async with aiohttp.ClientSession() as http:
        streams = [await stream(http, base, accept) for accept in STREAMS]
        for answer in streams:
            await answer.content.readuntil(b'"lots"')
        print("live", flush=True)
        for name, session in zip(NAMES, sessions):
            expect(await session.close_code(), 1001, name)
        texts = [(await answer.read()).decode() for answer in streams]
    # Without "complete", which would be the end for the client.
    assert "complete" not in texts[0], texts
    assert '{"payload":null,"errors":[{' in texts[1] and texts[1].endswith("\r\n--graphql--\r\n"), texts


async def limits(base, token):
    for name in NAMES:
        session = await Protocol(name, base).introduce()
        for number in range(3):
            await session.live(str(number))
        await session.start("one too many")
        message = await session.receive()
        expect((message["type"], message["id"]), ("error", "one too many"), name)
        assert "maximum" in json.dumps(message), message
        await session.socket.close()


async def hostile(base, token):
    """What one client sends disturbs no other."""
    good = [await (await Protocol(name, base).introduce()).live() for name in NAMES]
    for name in NAMES:
        for text in ["", "nonsense", "[" * 5000, "null", '{"type":"start"}', '{"type":"subscribe","id":"1"}',
                     '{"type":"connection_init","payload":1}', '{"type":"start","id":"1","payload":{"data":"["}}',
                     '{"id":"' + "x" * 3000 + '","type":"start","payload":{}}', b"\x00\x01", "x" * 100_000]:
            for introduced in [False, True]:
                bad = Protocol(name, base)
                await (bad.introduce() if introduced else bad.open())
                await bad.socket.send(text)
                await bad.socket.close()
    # Not a subprotocol of the path, and no path at all.
    async with websockets.connect(base.replace("http", "ws") + "/graphql", subprotocols=["mqtt"]) as other:
        expect(other.subprotocol, None, "unknown subprotocol")
        try:
            await other.recv()
        except websockets.ConnectionClosed as closed:
            expect(closed.rcvd.code, 4406, "unknown subprotocol")
    try:
        await websockets.connect(base.replace("http", "ws") + "/nothing", subprotocols=["graphql-ws"])
        raise SystemExit("a WebSocket at an unknown path")
    except websockets.InvalidStatus as refused:
        expect(refused.response.status_code, 404, "unknown path")
    # Both older and newer are offered: the newer.
    both = await websockets.connect(
        base.replace("http", "ws") + "/graphql", subprotocols=["graphql-ws", "graphql-transport-ws"])
    expect(both.subprotocol, "graphql-transport-ws", "preference")
    await change(base, good[0].lot)
    for name, session in zip(NAMES, good):
        message = await session.receive()
        expect((message["type"] in ("next", "data"), message["id"]), (True, "1"), name)


async def timeout(base, token):
    sockets = [await Protocol(name, base).open() for name in NAMES]
    for name, session in zip(NAMES, sockets):
        expect(await session.close_code(), 4408, name)


ACCOUNT = {"query": "subscription { user(key: {uid_expr: \"auth.uid\"}) { uid name city about } }"}


async def appsync(base, token):
    """Every way in which an AppSync client says who it is."""
    url = base.replace("http", "ws") + "/graphql"
    text = json.dumps({"host": "freshet", "Authorization": token}).encode()
    standard = base64.b64encode(text).decode()
    for_url = base64.urlsafe_b64encode(text).decode().rstrip("=")
    ways = {
        "query": lambda: websockets.connect(
            url + "/realtime?header=%s&payload=e30=" % standard, subprotocols=["graphql-ws"]),
        "query at /graphql": lambda: websockets.connect(
            url + "?header=%s&payload=e30=" % standard, subprotocols=["graphql-ws"]),
        "subprotocol": lambda: websockets.connect(url + "/realtime", subprotocols=["graphql-ws", "header-" + for_url]),
        "header": lambda: websockets.connect(
            url + "/realtime", subprotocols=["graphql-ws"], additional_headers={"Authorization": token}),
        "start": lambda: websockets.connect(url + "/realtime", subprotocols=["graphql-ws"]),
    }
    for name, connect in ways.items():
        async with connect() as socket:
            expect(socket.subprotocol, "graphql-ws", name)
            await socket.send(json.dumps({"type": "connection_init"}))
            ack = json.loads(await socket.recv())
            expect((ack["type"], ack["payload"]), ("connection_ack", {"connectionTimeoutMs": 300000}), name)
            expect(json.loads(await socket.recv()), {"type": "ka"}, name)
            extensions = {"authorization": {"Authorization": token}} if name == "start" else {}
            await socket.send(json.dumps(
                {"id": "p", "type": "start", "payload": {"data": json.dumps(ACCOUNT), "extensions": extensions}}))
            seen = []
            while len(seen) < 2:
                message = json.loads(await asyncio.wait_for(socket.recv(), 15))
                if message["type"] != "ka":
                    seen.append(message)
            expect(seen[0], {"id": "p", "type": "start_ack"}, name)
            expect((seen[1]["type"], seen[1]["payload"]), ("data", {"data": {"user": None}}), name)
            await socket.send(json.dumps({"id": "p", "type": "stop"}))
            while True:
                message = json.loads(await asyncio.wait_for(socket.recv(), 15))
                if message["type"] != "ka":
                    break
            expect(message, {"id": "p", "type": "complete"}, name)
    for header, errors in [(base64.b64encode(b'{"Authorization":"forged"}').decode(), "UnauthorizedException"),
                           ("%21", "BadRequestException")]:
        async with websockets.connect(url + "/realtime?header=" + header, subprotocols=["graphql-ws"]) as socket:
            await socket.send(json.dumps({"type": "connection_init"}))
            refused = json.loads(await socket.recv())
            error = refused["payload"]["errors"][0]
            expect((refused["type"], error["errorType"]), ("connection_error", errors), header)


async def main(what, base, token):
    scenarios = {
        "appsync": appsync, "expiry": expiry, "leaving": leaving, "limits": limits, "hostile": hostile,
        "timeout": timeout}
    await scenarios[what](base, token)
    print("passed", flush=True)


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:4]), 120))
