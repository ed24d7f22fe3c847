"""What clients of HTTP hear while the database is away.

    outage_client.py http://HOST:PORT

Follows a live query by an event stream, says `live`, and goes on at SIGUSR1: the database is gone then. Says `away`,
and goes on at the next one: it is back. `gateway.keepAliveMs` is 500.
"""

import asyncio
import signal
import sys
import time

import aiohttp

QUERY = "/v1/connectors/auctions/queries/ListLots?variables=%7B%22category%22:%22Books%22%7D"
OTHER = "/v1/connectors/auctions/queries/ListLots?variables=%7B%22category%22:%22Toys%22%7D"


class Stream:
    """Lines of an event stream as they come, with the time of each."""

    def __init__(self, session, url):
        self.lines = []
        self.task = asyncio.create_task(self.read(session, url))

    async def read(self, session, url):
        async with session.get(url, headers={"accept": "text/event-stream"}) as answer:
            assert answer.status == 200, answer.status
            async for line in answer.content:
                self.lines.append((time.monotonic(), line.decode().rstrip("\n")))

    async def until(self, fits, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(fits(line) for _, line in self.lines):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"not heard within {seconds} s: {self.lines}")

    def heartbeats(self, since):
        return sum(1 for at, line in self.lines if at >= since and line == ":")


async def main(url):
    turns = asyncio.Queue()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, turns.put_nowait, None)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        before = Stream(session, url + QUERY)
        await before.until(lambda line: line == "event: next", 20)
        async with session.get(url + QUERY) as answer:
            tag = answer.headers["etag"]
        print("live", flush=True)
        await turns.get()

        start = time.monotonic()
        during = Stream(session, url + OTHER)
        # The first request for this one: only the database has its result.
        headers = {"prefer": "wait=2", "if-none-match": '"unknown"'}
        async with session.get(url + OTHER, headers=headers) as answer:
            body = await answer.json()
            took = time.monotonic() - start
            print("poll", answer.status, round(took, 2), body, flush=True)
            assert answer.status == 503, answer.status
            assert body["errors"][0]["extensions"]["code"] == "UNAVAILABLE", body
            assert "retry-after" in answer.headers
            assert took < 6, took
        start = time.monotonic()
        async with session.get(url + QUERY, headers={"prefer": "wait=2", "if-none-match": tag}) as answer:
            await answer.read()
            took = time.monotonic() - start
            print("poll of a held result", answer.status, round(took, 2), flush=True)
            assert answer.status in (304, 503) and took < 6, (answer.status, took)
        await during.until(lambda line: line == "event: error", 20)
        assert any(line.startswith("data: ") and "errors" in line for _, line in during.lines), during.lines
        seconds = time.monotonic() - start
        for name, stream in (("before", before), ("during", during)):
            count = stream.heartbeats(start)
            print(name, "heartbeats", count, "in", round(seconds, 1), "s", flush=True)
            assert count >= seconds / 0.5 / 3, (name, count, seconds)
            assert not stream.task.done(), name
        print("away", flush=True)
        await turns.get()
        # The stream that heard of the error gets its result when the database is back.
        await during.until(lambda line: line == "event: next", 40)
        for stream in (before, during):
            stream.task.cancel()
    print("passed")


asyncio.run(main(sys.argv[1]))
