"""Through a proxy with several gateways behind it: gRPC by cleartext HTTP/2, and graphql-sse's single connection, whose
requests must all reach the gateway that reserved it.

    proxy_client.py http://HOST:PORT
"""

import asyncio
import json
import os
import sys

import aiohttp
import grpc
from google.protobuf.json_format import MessageToDict, ParseDict

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

NAME = "projects/p/locations/us-central1/services/movies/connectors/movies"
TOKEN = "x-graphql-event-stream-token"


async def calls(base):
    messages, services = connector_stubs()
    async with grpc.aio.insecure_channel(base.removeprefix("http://")) as channel:
        unary = services.ConnectorServiceStub(channel)
        for _ in range(4):
            answer = await unary.ExecuteQuery(
                messages.ExecuteQueryRequest(name=NAME, operation_name="TopRatedMovies"), timeout=10)
            movie = MessageToDict(answer.data)["movies"][0]["id"]
        call = services.ConnectorStreamServiceStub(channel).Connect()
        request = messages.StreamRequest(name=NAME, request_id="1")
        ParseDict({"operationName": "GetMovieById", "variables": {"id": movie}}, request.subscribe)
        await call.write(request)
        await asyncio.wait_for(call.read(), 10)
        change = messages.StreamRequest(request_id="2")
        ParseDict({"operationName": "UpdateMovie",
                   "variables": {"id": movie, "genre": "Drama", "description": "by gRPC"}}, change.execute)
        await call.write(change)
        for _ in range(2):
            answer = await asyncio.wait_for(call.read(), 10)
            if answer.request_id == "1":
                assert MessageToDict(answer.data)["movie"]["description"] == "by gRPC"
        await call.done_writing()


async def single(session, base):
    """Ten operations on one stream: without a proxy that remembers, half of the requests would miss it."""
    async with session.put(base + "/graphql") as answer:
        assert answer.status == 201, answer.status
        token = await answer.text()
        assert answer.headers[TOKEN] == token
    async with session.get(base + "/graphql", headers={TOKEN: token, "accept": "text/event-stream"}) as stream:
        assert stream.status == 200, stream.status
        for number in range(10):
            body = {"query": "", "operationName": "TopRatedMovies", "variables": {"limit": number + 1},
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


async def main(base):
    await calls(base)
    async with aiohttp.ClientSession() as session:
        for _ in range(3):
            await single(session, base)
    print("passed")


asyncio.run(main(sys.argv[1]))
