"""An API key where each protocol carries it: gql's AppSync transport, the payloads of both WebSocket subprotocols, and
SQL Connect's stream.

    api_key_client.py http://HOST:PORT KEY
"""

import asyncio
import json
import sys

import aiohttp
import websockets
from gql import Client, gql
from gql.transport.appsync_auth import AppSyncApiKeyAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport
from gql.transport.exceptions import TransportError

OPERATION = "ClosingSoon"


async def socket(base, protocol, payload, path="/graphql"):
    """The first answer to a subscription, or the close code."""
    start = "subscribe" if protocol == "graphql-transport-ws" else "start"
    try:
        async with websockets.connect(base.replace("http", "ws") + path, subprotocols=[protocol]) as ws:
            await ws.send(json.dumps({"type": "connection_init", "payload": payload}))
            while True:
                message = json.loads(await asyncio.wait_for(ws.recv(), 10))
                if message["type"] == "connection_ack":
                    await ws.send(json.dumps(
                        {"id": "1", "type": start, "payload": {"query": "", "operationName": OPERATION}}))
                if message.get("id") == "1":
                    return message["type"]
    except websockets.ConnectionClosed as closed:
        return closed.rcvd.code


async def appsync(base, key):
    """The first message about an operation, by gql's own handshake."""
    auth = AppSyncApiKeyAuthentication(host="127.0.0.1", api_key=key)
    transport = AppSyncWebsocketsTransport(url=base.replace("http", "ws") + "/graphql", auth=auth)
    try:
        async with Client(transport=transport) as session:
            document = gql("subscription ClosingSoon { nothing }")
            async for _ in session.subscribe(document):
                return "data"
    except TransportError as error:
        return str(error)


async def sql_connect(base, key, header):
    """SQL Connect's stream: the key in the address, or among the headers of the first message. True: a result came."""
    name = "projects/p/locations/us-central1/services/auctions/connectors/auctions"
    service = "google.firebase.dataconnect.v1.ConnectorStreamService"
    url = base.replace("http", "ws") + "/ws/" + service + "/Connect/locations/us-central1"
    headers = {"x-goog-api-key": key} if header else {}
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url + ("" if header or not key else "?key=" + key)) as ws:
            await ws.send_json({"name": name, "headers": headers, "requestId": "1",
                                "subscribe": {"operationName": OPERATION, "variables": {}}})
            result = (await asyncio.wait_for(ws.receive_json(), 10))["result"]
            return not result.get("errors")


async def main(base, key):
    for protocol, news in [("graphql-transport-ws", "next"), ("graphql-ws", "data")]:
        for payload in [{"x-api-key": key}, {"headers": {"X-Api-Key": key}}, {"apiKey": key}]:
            answer = await socket(base, protocol, payload)
            assert answer == news, (protocol, payload, answer)
        assert await socket(base, protocol, {}, "/graphql?key=" + key) == news, protocol
        for payload in [{}, {"x-api-key": key[:-1] + "X"}]:
            answer = await socket(base, protocol, payload)
            assert answer in (4403, 1011), (protocol, payload, answer)
    for header in [False, True]:
        assert await sql_connect(base, key, header), header
        assert not await sql_connect(base, key[:-1] + "X", header), header
    assert not await sql_connect(base, None, False)
    wrong = await appsync(base, key[:-1] + "X")
    assert "API key" in wrong, wrong
    # The key is good: the text is what is not known.
    right = await appsync(base, key)
    assert "API key" not in right, right
    print("passed")


asyncio.run(main(sys.argv[1], sys.argv[2]))
