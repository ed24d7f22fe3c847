"""Clients of several addresses of this machine behind one proxy; each address may have two sessions.

    address_client.py HOST:PORT
"""

import asyncio
import sys

import aiohttp

QUERY = "/v1/connectors/auctions/queries/ListLots?variables=%7B%22category%22:%22Books%22%7D"


class Client:
    """All connections come from one address."""

    def __init__(self, address, host):
        self.host = host
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(local_addr=(address, 0)), timeout=aiohttp.ClientTimeout(total=20))
        self.held = []

    async def socket(self, headers=None):
        """The status of the handshake; the socket stays open."""
        try:
            socket = await self.session.ws_connect(
                f"ws://{self.host}/graphql", protocols=["graphql-transport-ws"], headers=headers or {})
        except aiohttp.WSServerHandshakeError as error:
            return error.status
        self.held.append(socket)
        await socket.send_json({"type": "connection_init"})
        assert (await socket.receive_json())["type"] == "connection_ack"
        return 101

    async def stream(self, headers=None):
        answer = await self.session.get(
            f"http://{self.host}{QUERY}", headers={"accept": "text/event-stream", **(headers or {})})
        self.held.append(answer)
        return answer.status

    async def close(self):
        await self.session.close()


async def main(host):
    first, second = Client("127.0.0.2", host), Client("127.0.0.3", host)
    assert await first.socket() == 101
    assert await first.stream() == 200
    assert await first.socket() == 429, "a third session"
    assert await first.stream() == 429, "a third session"
    # What a client says about itself is not believed.
    for invented in ["203.0.113.7", "127.0.0.3", "127.0.0.1"]:
        assert await first.socket({"X-Forwarded-For": invented}) == 429, invented
        assert await first.stream({"X-Forwarded-For": invented}) == 429, invented
    assert await second.socket() == 101, "another address"
    assert await second.socket({"X-Forwarded-For": "127.0.0.2"}) == 101
    assert await second.socket() == 429
    for client in (first, second):
        await client.close()
    print("passed")


asyncio.run(main(sys.argv[1]))
