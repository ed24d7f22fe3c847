"""A user who follows a query over every protocol that stays open is revoked: each ends in its own way, and nothing is
delivered afterwards.

    revocation_client.py http://HOST:PORT TOKEN OTHER-TOKEN

TOKEN is the one that is revoked; its owner and that of OTHER-TOKEN follow the same query.

Prints "live" when all follow, and "ended at SECONDS" (since 1970) when the last of them ended.
"""

import asyncio
import json
import os
import sys
import time

import aiohttp
import grpc

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402
from session_client import NAMES, PAYLOAD, STREAMS, Protocol, change, expect, stream  # noqa: E402
from sql_connect_client import NAME, NEW_PATH, Calls, Stream  # noqa: E402

WANTED = {"operationName": "ListLots", "variables": {"category": "Ceramics"}}
TOKEN = "x-graphql-event-stream-token"


async def until(answer, text):
    """What came of a streamed answer up to `text`, or to its end."""
    whole = ""
    while text not in whole:
        part = await asyncio.wait_for(answer.content.readany(), 15)
        if not part:
            break
        whole += part.decode()
    return whole


async def closed(session):
    expect(await session.close_code(), 4403, session.name)


async def notified(session):
    message = await session.receive()
    expect((message["type"], message["id"]), ("error", "1"), session.name)
    expect(message["payload"]["errors"][0]["errorType"], "UnauthorizedException", session.name)
    await closed(session)


async def broken_off(answer, accept):
    text = await until(answer, "no such text")
    assert "revoked" in text, (accept, text)


async def single(answer):
    text = await until(answer, "event: complete")
    assert "revoked" in text and '"id":"1"' in text, text


async def refused(web):
    answer = await web.next(15)
    expect((answer["requestId"], answer["errors"][0]["extensions"]["code"]), ("1", "UNAUTHENTICATED"), "SQL Connect")
    expect((await asyncio.wait_for(web.socket.receive(), 15)).data, 4403, "SQL Connect")


async def ended(call):
    try:
        expect(await asyncio.wait_for(call.read(), 15), grpc.aio.EOF, "gRPC")
    except grpc.aio.AioRpcError:
        pass
    expect(await call.code(), grpc.StatusCode.UNAUTHENTICATED, "gRPC")


async def main(base, token, other_token):
    messages, services = connector_stubs()
    bearer = {"authorization": "Bearer " + token}
    sessions = [await (await Protocol(name, base, token).introduce()).live() for name in NAMES]
    other = await (await Protocol(NAMES[0], base, other_token).introduce()).live()
    async with aiohttp.ClientSession() as http, grpc.aio.insecure_channel(base.split("://")[1]) as channel:
        streams = [await stream(http, base, accept, token) for accept in STREAMS]
        for answer in streams:
            await until(answer, '"lots"')
        async with http.put(base + "/graphql", headers=bearer) as answer:
            reserved = {TOKEN: await answer.text(), **bearer}
        shared = await http.get(base + "/graphql", headers={**reserved, "accept": "text/event-stream"})
        body = {**PAYLOAD, "extensions": {"operationId": "1"}}
        async with http.post(base + "/graphql", json=body, headers=reserved) as answer:
            expect(answer.status, 202, "operation")
        await until(shared, '"lots"')
        web = Stream(await http.ws_connect(base + NEW_PATH))
        await web.send(requestId="1", name=NAME, subscribe=WANTED, headers={"X-Firebase-Auth-Token": token})
        assert "data" in await web.next()
        calls = Calls()
        call = services.ConnectorStreamServiceStub(channel).Connect(
            calls, metadata=(("x-firebase-auth-token", token),))
        request = messages.StreamRequest(request_id="1", name=NAME)
        request.subscribe.operation_name = WANTED["operationName"]
        request.subscribe.variables.update(WANTED["variables"])
        calls.queue.put_nowait(request)
        await asyncio.wait_for(call.read(), 10)

        print("live", flush=True)
        await asyncio.gather(
            *(notified(session) if session.is_appsync else closed(session) for session in sessions),
            *(broken_off(answer, accept) for answer, accept in zip(streams, STREAMS)),
            single(shared), refused(web), ended(call))
        print("ended at %.3f" % time.time(), flush=True)

        # What changes now reaches the other user.
        await change(base, sessions[0].lot)
        assert '"changed"' in json.dumps(await other.receive())
        shared.close()
    print("passed", flush=True)


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:4]), 60))
