"""One session of every protocol: how each is refused by a node that takes no more, and that each leaves nothing behind.

    admission_client.py refused|everyone http://HOST:PORT

`refused`: the node accepts one session a second. `everyone`: prints "live" and how many sessions it has; on SIGTERM it
ends every other one as its protocol wants, and then itself at once, with the rest open.
"""

import asyncio
import json
import os
import signal
import sys

import aiohttp
import grpc
import websockets

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402
from session_client import NAMES, PAYLOAD, STREAMS, Protocol, expect, stream  # noqa: E402
from sql_connect_client import NAME, NEW_PATH, Calls, Rest, Stream  # noqa: E402

TOKEN = "x-graphql-event-stream-token"
CATEGORY = {"category": "Ceramics"}
PLAIN = "/v1/connectors/auctions/queries/ListLots?variables=" + json.dumps(CATEGORY)


# Refusals. Each attempt gives None when it was let in, else the status, Retry-After and what the body says.


async def by_http(answer):
    async with answer:
        if answer.status < 400:
            return None
        return answer.status, answer.headers.get("retry-after"), (await answer.read()).decode()


async def by_socket(protocol):
    try:
        await protocol.open()
    except websockets.InvalidStatus as refusal:
        response = refusal.response
        return response.status_code, response.headers.get("retry-after"), response.body.decode()
    await protocol.socket.close()


async def by_grpc(streams):
    calls = Calls()
    call = streams.Connect(calls)
    calls.queue.put_nowait(None)
    if await call.code() != grpc.StatusCode.UNAVAILABLE:
        return None
    pushback = dict(await call.trailing_metadata()).get("grpc-retry-pushback-ms")
    return 503, str(int(pushback) // 1_000), await call.details()


async def refused(base):
    messages, services = connector_stubs()
    async with aiohttp.ClientSession() as session, grpc.aio.insecure_channel(base.split("://")[1]) as channel:
        streams = services.ConnectorStreamServiceStub(channel)
        forms = {name: lambda name=name: by_socket(Protocol(name, base)) for name in NAMES}
        forms["resource"] = lambda: http(session.get(base + PLAIN, headers={"accept": "text/event-stream"}))
        forms["long-poll"] = lambda: http(session.get(base + PLAIN, headers={"prefer": "wait=1"}))
        forms["single connection"] = lambda: http(session.put(base + "/graphql"))
        for accept in STREAMS:
            forms[accept] = lambda accept=accept: http(stream(session, base, accept))
        forms["gRPC"] = lambda: by_grpc(streams)

        async def http(request):
            return await by_http(await request)

        for name, attempt in forms.items():
            # One a second is let in: of two attempts in a second one is not.
            for _ in range(50):
                refusal = await attempt()
                if refusal:
                    break
            else:
                raise SystemExit(name + ": never refused")
            status, after, text = refusal
            expect(status, 503, name)
            assert after and after.isdecimal() and 1 <= int(after) <= 60, (name, after)
            assert "too many sessions" in text, (name, text)
        # What is no session is answered as ever: reads, mutations, and polls that go on with an earlier one.
        for _ in range(5):
            async with session.get(base + PLAIN) as answer:
                expect(answer.status, 200, "read")
                tag = answer.headers["etag"]
            async with session.get(base + PLAIN, headers={"prefer": "wait=1", "if-none-match": tag}) as answer:
                assert answer.status in (200, 304), answer.status


# Everyone


async def everyone(base):
    signalled = asyncio.Event()
    # The parent may have the signal blocked, and children inherit that.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, signalled.set)
    messages, services = connector_stubs()
    session = aiohttp.ClientSession()
    channel = grpc.aio.insecure_channel(base.split("://")[1])
    lot = await Rest(session, base).lot()
    # What ends each as its protocol wants.
    endings = []
    reading = []

    async def read(receive):
        # Reading answers pings.
        while True:
            await receive()

    for name in NAMES:
        protocol = await (await Protocol(name, base).introduce()).live()
        reading.append(asyncio.create_task(read(protocol.socket.recv)))
        endings.append(protocol.socket.close)

    socket = await session.ws_connect(base + NEW_PATH)
    web = Stream(socket)
    await web.send(requestId="1", name=NAME, subscribe={"operationName": "GetLot", "variables": {"id": lot}})
    await web.next()
    reading.append(asyncio.create_task(read(socket.receive)))
    endings.append(socket.close)

    calls = Calls()
    call = services.ConnectorStreamServiceStub(channel).Connect(calls)
    request = messages.StreamRequest(request_id="1", name=NAME)
    request.subscribe.operation_name = "GetLot"
    request.subscribe.variables.update({"id": lot})
    calls.queue.put_nowait(request)
    await asyncio.wait_for(call.read(), 10)

    async def cancel():
        call.cancel()

    endings.append(cancel)

    async def close(answer):
        answer.close()

    answers = [await session.get(base + PLAIN, headers={"accept": "text/event-stream"})]
    answers += [await stream(session, base, accept) for accept in STREAMS]
    async with session.put(base + "/graphql") as answer:
        mine = {TOKEN: await answer.text()}
    body = {**PAYLOAD, "extensions": {"operationId": "1"}}
    async with session.post(base + "/graphql", json=body, headers=mine) as answer:
        expect(answer.status, 202, "operation of a single connection")
    answers.append(await session.get(base + "/graphql", headers={**mine, "accept": "text/event-stream"}))
    for answer in answers:
        await asyncio.wait_for(answer.content.readuntil(b'"lots"'), 10)
        endings.append(lambda answer=answer: close(answer))

    async with session.get(base + PLAIN) as answer:
        tag = answer.headers["etag"]
    poll = asyncio.create_task(session.get(base + PLAIN, headers={"prefer": "wait=60", "if-none-match": tag}))

    async def leave():
        poll.cancel()

    endings.append(leave)
    print("live %d" % len(endings), flush=True)
    await signalled.wait()
    for task in reading:
        task.cancel()
    for ending in endings[::2]:
        await asyncio.wait_for(ending(), 10)
    print("left", flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run({"refused": refused, "everyone": everyone}[sys.argv[1]](sys.argv[2]))
    print(sys.argv[1], "passed")
