"""Clients of every protocol that stop reading while a live query changes again and again, and one that reads on.

    slow_client.py newest|closed|stalled http://HOST:PORT

`newest`: who reads again gets the newest result, having skipped those between. `closed`: the node holds less than one
result for a session, and ends those that do not read, each in the protocol's own way. `stalled`: the node cuts off who
takes nothing for 3 s (`http.writeStallTimeoutMs`); of a gRPC connection only the call that is not read, beside one that
is and one with nothing to read. The one that reads sees every change in time in all.
"""

import asyncio
import base64
import json
import os
import sys
import time
import urllib.parse

import aiohttp
import grpc
import websockets

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

OPERATION, CATEGORY = "ListLots", {"category": "Ceramics"}
NAME = "projects/p/locations/us-central1/services/auctions/connectors/auctions"
STREAM = "/ws/google.firebase.dataconnect.v1.ConnectorStreamService/Connect/locations/us-central1"
PAYLOAD = {"query": "", "operationName": OPERATION, "variables": CATEGORY}
CHANGES = 45
STALL_SECONDS = 3
PADDING = "x" * 30_000


class Slow:
    """A follower: `results` yields the first lot's description of each result; nothing is read between its steps."""

    def __init__(self, name, results):
        self.name, self.results, self.seen = name, results, 0

    async def next(self, seconds=60):
        description = await asyncio.wait_for(anext(self.results), seconds)
        self.seen += 1
        return description


def described(data):
    rows, text = (data["lots"], "description") if "lots" in data else (data["questions"], "text")
    return rows[0][text].split(" ")[0] if rows else "none"


async def graphql_socket(base, protocol, id="1"):
    start = "subscribe" if protocol == "graphql-transport-ws" else "start"
    url, payload = base.replace("http", "ws") + "/graphql", PAYLOAD
    if protocol == "appsync":
        authorization = {"host": "freshet", "x-api-key": "k"}
        header = base64.b64encode(json.dumps(authorization).encode()).decode()
        url += "/realtime?header=%s&payload=e30=" % urllib.parse.quote(header)
        payload = {"data": json.dumps(PAYLOAD), "extensions": {"authorization": authorization}}
    subprotocol = "graphql-ws" if protocol == "appsync" else protocol
    async with websockets.connect(url, subprotocols=[subprotocol], max_size=None, max_queue=1,
                                  ping_interval=None) as ws:
        await ws.send(json.dumps({"type": "connection_init"}))
        while True:
            message = json.loads(await ws.recv())
            if message["type"] == "connection_ack":
                await ws.send(json.dumps({"id": id, "type": start, "payload": payload}))
            elif message.get("id") == id and message["type"] != "start_ack":
                yield described(message["payload"]["data"])


async def sql_connect(base):
    async with websockets.connect(base.replace("http", "ws") + STREAM, max_size=None, max_queue=1,
                                  ping_interval=None) as ws:
        await ws.send(json.dumps({"name": NAME, "requestId": "1",
                                  "subscribe": {"operationName": OPERATION, "variables": CATEGORY}}))
        while True:
            yield described(json.loads(await ws.recv())["result"]["data"])


async def stream(base, method, path, accept):
    body = {"json": PAYLOAD} if method == "POST" else {}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None), read_bufsize=1024) as session:
        async with session.request(method, base + path, headers={"accept": accept}, **body) as answer:
            assert answer.status == 200, answer.status
            text = b""
            async for chunk in answer.content.iter_any():
                text += chunk
                while b"\n" in text:
                    line, _, text = text.partition(b"\n")
                    line = line.removeprefix(b"data: ").strip()
                    if not line.startswith(b"{") or line == b"{}":
                        continue
                    message = json.loads(line)
                    message = message.get("payload", message)
                    if not message or not message.get("data"):
                        raise EOFError(line[:200])
                    yield described(message["data"])


def grpc_channel(base):
    return grpc.aio.insecure_channel(base.removeprefix("http://"), [("grpc.max_receive_message_length", -1)])


async def grpc_stream(channel, operation=OPERATION, variables=CATEGORY):
    from google.protobuf.json_format import MessageToDict, ParseDict
    messages, services = connector_stubs()
    call = services.ConnectorStreamServiceStub(channel).Connect()
    request = messages.StreamRequest(name=NAME, request_id="1")
    ParseDict({"operationName": operation, "variables": variables}, request.subscribe)
    await call.write(request)
    while True:
        answer = await call.read()
        if answer is grpc.aio.EOF:
            raise EOFError(await call.code())
        yield described(MessageToDict(answer.data))


async def read_until(follower, last):
    while await follower.next() != last:
        pass


async def change(session, base, lot, description):
    await mutate(session, base, "EditLot", {"id": lot, "category": "Ceramics", "description": description})


async def mutate(session, base, operation, variables):
    body = {"operationName": operation, "variables": variables}
    async with session.post(base + "/graphql", json=body) as answer:
        assert "errors" not in await answer.json()


async def main(mode, base):
    path = "/v1/connectors/auctions/queries/%s?variables=%s" % (OPERATION, urllib.parse.quote(json.dumps(CATEGORY)))
    async with aiohttp.ClientSession() as session:
        async with session.get(base + path) as answer:
            lots = [lot["id"] for lot in (await answer.json())["data"]["lots"]]
        assert len(lots) == 10
        for lot in lots:
            await change(session, base, lot, "before " + PADDING)
        channel = grpc_channel(base)
        fast = Slow("fast", graphql_socket(base, "graphql-transport-ws"))
        followers = [Slow(name, graphql_socket(base, name)) for name in
                     ["graphql-transport-ws", "graphql-ws", "appsync"]]
        followers += [
            Slow("sql-connect", sql_connect(base)),
            Slow("event-stream", stream(base, "GET", path, "text/event-stream")),
            Slow("graphql-sse", stream(base, "POST", "/graphql", "text/event-stream")),
            Slow("multipart", stream(base, "POST", "/graphql", "multipart/mixed;subscriptionSpec=1.0")),
            Slow("grpc", grpc_stream(channel)),
        ]
        for follower in [fast] + followers:
            assert await follower.next() == "before", follower.name
        if mode == "stalled":
            beside = Slow("grpc, beside", grpc_stream(channel))
            # Without a timer: nothing comes before it is asked for.
            quiet = Slow("grpc, quiet", grpc_stream(channel, "LotQuestions", {"lotId": lots[1]}))
            assert await quiet.next() != "asked"
            besides = asyncio.create_task(read_until(beside, "after"))
        longest = changes = 0
        stalled_at = None
        while changes < CHANGES or (mode == "stalled" and time.monotonic() < stalled_at + 3 * STALL_SECONDS):
            began = time.monotonic()
            await change(session, base, lots[0], "n%d %s" % (changes, PADDING))
            await read_until(fast, "n%d" % changes)
            longest = max(longest, time.monotonic() - began)
            changes += 1
            if changes == CHANGES:
                stalled_at = time.monotonic()
        print("fast saw", fast.seen, "longest wait %.2f s" % longest)
        assert fast.seen == changes + 1, "the one that reads skipped nothing"
        last = "n%d" % (changes - 1)
        for follower in followers:
            try:
                await read_until(follower, last)
                ended = None
            except (websockets.ConnectionClosed, EOFError, OSError, aiohttp.ClientError, grpc.aio.AioRpcError,
                    StopAsyncIteration) as error:
                ended = error
            how = getattr(getattr(ended, "rcvd", None), "code", None) or repr(ended)[:120]
            print(follower.name, "read", follower.seen, "of", changes + 1, "ended" if ended else "lives", how)
            if mode == "newest":
                assert ended is None, follower.name
                assert follower.seen < CHANGES, "%s skipped nothing: it was not slow enough" % follower.name
            else:
                assert ended is not None, follower.name
                if isinstance(ended, websockets.ConnectionClosed) and mode == "closed":
                    assert ended.rcvd.code == 1013, (follower.name, ended)
                elif follower.name == "grpc":
                    assert "RESOURCE_EXHAUSTED" in repr(ended), ended
        # The clients that do not read did not affect the one that reads.
        await change(session, base, lots[0], "after " + PADDING)
        await read_until(fast, "after")
        if mode == "stalled":
            await besides
            await mutate(session, base, "AskQuestion", {"lotId": lots[1], "name": "quiet", "text": "asked"})
            assert await quiet.next() == "asked"
            print("on the same connection", beside.name, "read", beside.seen, "and", quiet.name, quiet.seen)
    print("passed", flush=True)
    # Unread sockets would be closed in order, one after the other.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
