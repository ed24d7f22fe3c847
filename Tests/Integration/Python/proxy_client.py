"""Through a proxy with several gateways behind it: gRPC by cleartext HTTP/2, every other way to wait for changes, and
(`single`) graphql-sse's single connection, whose requests must all reach the gateway that reserved it.

    proxy_client.py http://HOST:PORT HOST:PORT-OF-GRPC http://HOST:ADMIN-PORT,… [single]

The admin ports are those of the gateways.
"""

import asyncio
import json
import os
import sys
import urllib.parse

import aiohttp
import grpc
from google.protobuf.json_format import MessageToDict, ParseDict

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

NAME = "projects/p/locations/us-central1/services/auctions/connectors/auctions"
TOKEN = "x-graphql-event-stream-token"


async def calls(address):
    messages, services = connector_stubs()
    async with grpc.aio.insecure_channel(address) as channel:
        unary = services.ConnectorServiceStub(channel)
        for _ in range(4):
            answer = await unary.ExecuteQuery(
                messages.ExecuteQueryRequest(name=NAME, operation_name="ClosingSoon"), timeout=10)
            lot = MessageToDict(answer.data)["lots"][0]["id"]
        call = services.ConnectorStreamServiceStub(channel).Connect()
        request = messages.StreamRequest(name=NAME, request_id="1")
        ParseDict({"operationName": "GetLot", "variables": {"id": lot}}, request.subscribe)
        await call.write(request)
        await asyncio.wait_for(call.read(), 10)
        change = messages.StreamRequest(request_id="2")
        ParseDict({"operationName": "EditLot",
                   "variables": {"id": lot, "category": "Books", "description": "by gRPC"}}, change.execute)
        await call.write(change)
        for _ in range(2):
            answer = await asyncio.wait_for(call.read(), 10)
            if answer.request_id == "1":
                assert MessageToDict(answer.data)["lot"]["description"] == "by gRPC"
        # Half of the call is over, the other half goes on; large messages in both directions.
        large = "large " * 30_000
        change = messages.StreamRequest(request_id="3")
        ParseDict({"operationName": "EditLot",
                   "variables": {"id": lot, "category": "Books", "description": large}}, change.execute)
        await call.write(change)
        await call.done_writing()
        while True:
            answer = await asyncio.wait_for(call.read(), 10)
            if answer.request_id == "1" and MessageToDict(answer.data)["lot"]["description"] == large:
                break
        # As long as tokens may be; statuses come through.
        try:
            await unary.ExecuteQuery(
                messages.ExecuteQueryRequest(name=NAME, operation_name="ClosingSoon"), timeout=10,
                metadata=(("x-firebase-auth-token", "t" * 10_000),))
            raise SystemExit("a made-up token was taken")
        except grpc.aio.AioRpcError as error:
            assert error.code() == grpc.StatusCode.UNAUTHENTICATED, error
        call.cancel()
        other = services.ConnectorStreamServiceStub(channel).Connect()
        await other.write(messages.StreamRequest(name=NAME, request_id="init"))
        await other.done_writing()
        assert await asyncio.wait_for(other.read(), 10) == grpc.aio.EOF
        assert await other.code() == grpc.StatusCode.OK


async def waits(session, admins):
    """Until one of the gateways has a long-poll."""
    while True:
        for admin in admins:
            async with session.get(admin + "/admin/sessions") as answer:
                if any(row["protocol"] == "long-poll" for row in (await answer.json())["sessions"]):
                    return
        await asyncio.sleep(0.02)


async def live(session, base, admins):
    """A WebSocket, an event stream, parts and a long-poll see one change at once."""
    plain = base + "/v1/connectors/auctions/"
    async with session.get(plain + "queries/ClosingSoon") as answer:
        lot = (await answer.json())["data"]["lots"][0]["id"]
    read = plain + "queries/GetLot?variables=" + urllib.parse.quote(json.dumps({"id": lot}))
    follow = {"query": "", "operationName": "GetLot", "variables": {"id": lot}}
    text = "by a proxy " * 10_000

    async def seen(next_part):
        whole = ""
        while text not in whole:
            part = await asyncio.wait_for(next_part(), 10)
            assert part, "the stream ended"
            whole += part

    async def read_from(stream):
        return (await stream.content.readany()).decode()

    async with session.ws_connect(base + "/graphql", protocols=["graphql-transport-ws"]) as socket, \
            session.get(read, headers={"accept": "text/event-stream"}) as events, \
            session.post(base + "/graphql", json=follow, headers={
                "accept": "multipart/mixed;subscriptionSpec=1.0, application/json"}) as parts:
        assert socket.protocol == "graphql-transport-ws", socket.protocol
        await socket.send_json({"type": "connection_init"})
        assert (await socket.receive_json(timeout=10))["type"] == "connection_ack"
        await socket.send_json({"id": "1", "type": "subscribe", "payload": follow})
        assert (await socket.receive_json(timeout=10))["type"] == "next"
        assert events.content_type == "text/event-stream" and parts.content_type == "multipart/mixed"
        async with session.get(read) as answer:
            tag = answer.headers["etag"]
        waiting = {"prefer": "wait=30", "if-none-match": tag}
        poll = asyncio.create_task(session.get(read, headers=waiting))
        await asyncio.wait_for(waits(session, admins), 10)
        change = {"variables": {"id": lot, "category": "Books", "description": text}}
        async with session.post(plain + "mutations/EditLot", json=change) as answer:
            assert answer.status == 200, answer.status
        await seen(lambda: socket.receive_str())
        await seen(lambda: read_from(events))
        await seen(lambda: read_from(parts))
        async with await asyncio.wait_for(poll, 10) as answer:
            assert text in await answer.text()


async def single(session, base):
    """Ten operations on one stream: without a proxy that remembers, half of the requests would miss it."""
    async with session.put(base + "/graphql") as answer:
        assert answer.status == 201, answer.status
        token = await answer.text()
        assert answer.headers[TOKEN] == token
    async with session.get(base + "/graphql", headers={TOKEN: token, "accept": "text/event-stream"}) as stream:
        assert stream.status == 200, stream.status
        for number in range(10):
            body = {"query": "", "operationName": "ClosingSoon", "variables": {"limit": number + 1},
                    "extensions": {"operationId": str(number)}}
            async with session.post(base + "/graphql", json=body, headers={TOKEN: token}) as answer:
                assert answer.status == 202, (number, answer.status, await answer.text())
        heard = set()
        while len(heard) < 10:
            line = await asyncio.wait_for(stream.content.readline(), 10)
            if line.startswith(b"data: {"):
                heard.add(json.loads(line[6:])["id"])
        async with session.delete(base + "/graphql?operationId=3&token=" + token) as answer:
            assert answer.status == 200, answer.status


async def main(base, address, admins, parts):
    await calls(address)
    async with aiohttp.ClientSession() as session:
        await live(session, base, admins)
        for _ in range(3 if "single" in parts else 0):
            await single(session, base)
    print("passed")


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:]))
