"""Three connections of one address that is counted, each with 60 live queries of its own, are cut once all have their
results.

    cut_client.py HOST:PORT
"""

import asyncio
import os
import sys

import aiohttp

QUERIES = 60


async def follow(session, url, name):
    socket = await session.ws_connect(url, protocols=["graphql-transport-ws"])
    await socket.send_json({"type": "connection_init"})
    assert (await socket.receive_json())["type"] == "connection_ack"
    for number in range(QUERIES):
        await socket.send_json({
            "type": "subscribe", "id": str(number),
            "payload": {
                "query": "", "operationName": "SearchLots", "variables": {"text": f"cut {name} {number}"},
            },
        })
    waiting = {str(number) for number in range(QUERIES)}
    while waiting:
        message = await socket.receive_json()
        assert message["type"] == "next", message
        waiting.discard(message["id"])
    return socket


async def main(host):
    connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60)) as session:
        sockets = [await follow(session, f"ws://{host}/graphql", name) for name in "abc"]
        print("passed", flush=True)
        # The sockets are closed without a word.
        os._exit(0)


asyncio.run(main(sys.argv[1]))
