"""Clients of several addresses of this machine. Each address may begin three sessions at once and one a second, and
send 100 messages at once and 50 a second, however many connections it makes.

    rate_client.py HOST:PORT
"""

import asyncio
import sys
import time

import aiohttp


class Client:
    """All connections come from one address."""

    def __init__(self, address, host):
        self.url = f"ws://{host}/graphql"
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(local_addr=(address, 0)), timeout=aiohttp.ClientTimeout(total=20))

    async def open(self):
        return await self.session.ws_connect(self.url, protocols=["graphql-transport-ws"], autoping=False)

    async def refusal(self):
        """The status of a handshake that is refused, and when to come back."""
        try:
            await self.open()
        except aiohttp.WSServerHandshakeError as error:
            return error.status, int(error.headers["retry-after"])
        raise AssertionError("accepted")

    async def acknowledged(self):
        """A new socket and the seconds until it was acknowledged."""
        start = time.monotonic()
        socket = await self.open()
        await socket.send_json({"type": "connection_init"})
        assert (await socket.receive_json())["type"] == "connection_ack"
        return socket, time.monotonic() - start


async def main(host):
    crowd, flood, other = (Client(f"127.0.0.{number}", host) for number in (2, 3, 4))
    for _ in range(3):
        await (await crowd.open()).close()
    refused = [await crowd.refusal() for _ in range(3)]
    assert all(status == 503 and 1 <= seconds <= 60 for status, seconds in refused), refused
    socket, _ = await other.acknowledged()
    await socket.close()
    # A refused client comes back when it was asked to.
    await asyncio.sleep(refused[0][1] + 0.2)
    await crowd.acknowledged()
    # Three connections send 100 pings each. The address has 100 at once, and 100 of the rest are answered before the
    # last ones begin, which takes two seconds; another address does not wait for that.
    start = time.monotonic()
    for _ in range(3):
        socket = await flood.open()
        for _ in range(100):
            await socket.ping()
        for _ in range(100):
            assert (await socket.receive()).type == aiohttp.WSMsgType.PONG
        await socket.close()
    seconds = time.monotonic() - start
    assert seconds > 1.5, "a fresh burst for each connection: %.2f s" % seconds
    _, quick = await other.acknowledged()
    assert quick < seconds, "%.2f s, %.2f s" % (quick, seconds)
    for client in (crowd, flood, other):
        await client.session.close()
    print("passed")


asyncio.run(main(sys.argv[1]))
