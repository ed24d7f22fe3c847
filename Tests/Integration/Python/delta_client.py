"""Results as JSON Patches over `graphql-transport-ws`, event streams and the plain resource, applied by PyPI's
jsonpatch: after every change each follower must hold what a plain GET of the whole result gives.

    delta_client.py http://HOST:PORT
"""

import asyncio
import json
import random
import sys
import urllib.parse

import aiohttp
import jsonpatch
import websockets

OPERATION = "ListLots"
CATEGORY = {"category": "Ceramics"}
PATH = "/v1/connectors/auctions/queries/%s?variables=%s" % (OPERATION, urllib.parse.quote(json.dumps(CATEGORY)))


class Follower:
    """Holds a document, and counts how it came by it."""

    def __init__(self, name):
        self.name, self.document, self.whole, self.patched, self.bytes = name, None, 0, 0, 0
        self.changed = asyncio.Condition()

    async def take(self, document=None, patch=None, size=0):
        async with self.changed:
            if patch is None:
                self.document, self.whole = document, self.whole + 1
            else:
                self.document, self.patched = jsonpatch.apply_patch(self.document, patch), self.patched + 1
            self.bytes += size
            self.changed.notify_all()

    async def reach(self, wanted):
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: self.document == wanted), 20)


async def socket(base, follower, delta=True):
    async with websockets.connect(base.replace("http", "ws") + "/graphql", subprotocols=["graphql-transport-ws"]) as ws:
        await ws.send(json.dumps({"type": "connection_init"}))
        assert json.loads(await ws.recv())["type"] == "connection_ack"
        payload = {"query": "", "operationName": OPERATION, "variables": CATEGORY}
        if delta:
            payload["extensions"] = {"delta": "json-patch"}
        await ws.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
        async for text in ws:
            message = json.loads(text)
            assert message["type"] == "next", message
            payload = message["payload"]
            if "data" in payload:
                await follower.take(document={"data": payload["data"]}, size=len(text))
            else:
                await follower.take(patch=payload["extensions"]["delta"]["patch"], size=len(text))


async def events(session, request, follower):
    """An event stream: `next` has a whole result, `patch` a patch; graphql-sse has patches in an extension."""
    async with request(session) as answer:
        assert answer.status == 200, answer.status
        event = {}
        async for line in answer.content:
            line = line.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                event[name] = value
                continue
            if event.get("event") == "patch":
                await follower.take(patch=json.loads(event["data"]), size=len(event["data"]))
            elif event.get("event") == "next":
                result = json.loads(event["data"])
                patch = result.get("extensions", {}).get("delta", {}).get("patch")
                await follower.take(document=None if patch else result, patch=patch, size=len(event["data"]))
            event = {}


async def polls(session, base, follower):
    tag = None
    while True:
        headers = {"prefer": "wait=20", "a-im": "json-patch"}
        if tag:
            headers["if-none-match"] = tag
        async with session.get(base + PATH, headers=headers) as answer:
            text = await answer.text()
            if answer.status == 304:
                continue
            if answer.status == 226:
                assert answer.headers["im"] == "json-patch" and answer.headers["delta-base"] == tag, answer.headers
                assert answer.headers["content-type"] == "application/json-patch+json"
                await follower.take(patch=json.loads(text), size=len(text))
            else:
                assert answer.status == 200, (answer.status, text)
                await follower.take(document=json.loads(text), size=len(text))
            tag = answer.headers["etag"]


async def main(base):
    seed = 7
    rng = random.Random(seed)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        async def truth():
            async with session.get(base + PATH) as answer:
                return await answer.json()

        followers = {name: Follower(name) for name in ["socket", "whole", "stream", "sse", "poll"]}
        body = {"operationName": OPERATION, "variables": CATEGORY, "extensions": {"delta": "json-patch"}}
        tasks = [
            asyncio.create_task(socket(base, followers["socket"])),
            asyncio.create_task(socket(base, followers["whole"], delta=False)),
            asyncio.create_task(events(
                session, lambda s: s.get(base + PATH + "&delta=json-patch", headers={"accept": "text/event-stream"}),
                followers["stream"])),
            asyncio.create_task(events(
                session, lambda s: s.post(base + "/graphql", json=body, headers={"accept": "text/event-stream"}),
                followers["sse"])),
            asyncio.create_task(polls(session, base, followers["poll"])),
        ]
        document = await truth()
        for follower in followers.values():
            await follower.reach(document)
        ids = [lot["id"] for lot in document["data"]["lots"]]
        for number in range(30):
            lot = rng.choice(ids)
            change = {"operationName": "EditLot", "variables": {
                "id": lot, "category": CATEGORY["category"], "description": rng.choice(["", "d%d" % number, "\"/~ü"])}}
            async with session.post(base + "/graphql", json=change) as answer:
                assert "errors" not in await answer.json()
            document = await truth()
            for name, follower in followers.items():
                try:
                    await follower.reach(document)
                except asyncio.TimeoutError:
                    raise SystemExit("seed %d, change %d: %s holds %r instead of %r" % (
                        seed, number, name, follower.document, document))
        for task in tasks:
            assert not task.done(), task
            task.cancel()
        for follower in followers.values():
            print(follower.name, "whole", follower.whole, "patched", follower.patched, "bytes", follower.bytes)
            if follower.name == "whole":
                assert follower.patched == 0
            else:
                assert follower.patched >= 15, "patches are what they asked for"
                assert follower.bytes < followers["whole"].bytes / 2
    print("passed")


asyncio.run(main(sys.argv[1]))
