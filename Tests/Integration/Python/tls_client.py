"""TLS on the public port: what ALPN chooses, and every kind of client over it.

    tls_client.py PORT CA_FILE
"""

import asyncio
import json
import ssl
import socket
import sys
import os

import aiohttp
import grpc
import websockets
from google.protobuf.json_format import MessageToDict

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

OPERATION = "ClosingSoon"
NAME = "projects/p/locations/us-central1/services/auctions/connectors/auctions"


def negotiated(port, ca, offered):
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(offered)
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as tls:
            return tls.selected_alpn_protocol(), tls.version(), tls.getpeercert()["serialNumber"]


async def main(port, ca):
    for offered, expected in [
            (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), (["h2"], "h2"), (["x"], None)]:
        protocol, version, serial = negotiated(port, ca, offered)
        assert protocol == expected, (offered, protocol)
        assert version in ("TLSv1.2", "TLSv1.3"), version
    context = ssl.create_default_context(cafile=ca)
    async with aiohttp.ClientSession() as session:
        base = "https://localhost:%d" % port
        for _ in range(3):
            async with session.get(base + "/v1/connectors/auctions/queries/" + OPERATION, ssl=context) as answer:
                assert answer.status == 200 and len((await answer.json())["data"]["lots"]) > 0
        stream = {"accept": "text/event-stream"}
        async with session.get(
                base + "/v1/connectors/auctions/queries/" + OPERATION, ssl=context, headers=stream) as answer:
            assert answer.status == 200
            async for line in answer.content:
                if line.startswith(b"data:"):
                    break
        body = {"operationName": OPERATION, "variables": {"limit": 1000}}
        async with session.post(base + "/graphql", ssl=context, json=body) as answer:
            assert len(await answer.read()) > 20_000
    async with websockets.connect("wss://localhost:%d/graphql" % port, ssl=context,
                                  subprotocols=["graphql-transport-ws"]) as ws:
        await ws.send(json.dumps({"type": "connection_init"}))
        assert json.loads(await ws.recv())["type"] == "connection_ack"
        await ws.send(json.dumps(
            {"id": "1", "type": "subscribe", "payload": {"query": "", "operationName": OPERATION}}))
        assert json.loads(await ws.recv())["type"] == "next"
    messages, services = connector_stubs()
    with open(ca, "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    with grpc.secure_channel("localhost:%d" % port, credentials) as channel:
        unary = services.ConnectorServiceStub(channel)
        request = messages.ExecuteQueryRequest(name=NAME, operation_name=OPERATION)
        assert len(MessageToDict(unary.ExecuteQuery(request, timeout=10).data)["lots"]) > 0
        stream = services.ConnectorStreamServiceStub(channel)

        def requests():
            yield messages.StreamRequest(
                name=NAME, request_id="1", subscribe=messages.ExecuteRequest(operation_name=OPERATION))
        for answer in stream.Connect(requests(), timeout=20):
            assert len(MessageToDict(answer.data)["lots"]) > 0
            break
    # Cleartext on the same port gets no answer.
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    assert b"200" not in await asyncio.wait_for(reader.read(), 20)
    print("serial", serial)
    print("passed")


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
