"""Clients that accept compression and some that do not, of every protocol, follow one live query.

    compression_client.py http://HOST:PORT http://ADMIN:PORT

The node has one event loop. Every follower must see every change, and a result must be compressed once for each form
and window, whatever the number of sessions.
"""

import asyncio
import json
import os
import re
import sys
import urllib.parse

import aiohttp
import websockets
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

# Without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import slow_client as clients  # noqa: E402

SESSIONS, CHANGES = 60, 4
PATH = "/v1/connectors/auctions/queries/%s?variables=%s" % (
    clients.OPERATION, urllib.parse.quote(json.dumps(clients.CATEGORY)))
PLAIN = {"accept-encoding": "identity"}


async def metrics(session, admin):
    async with session.get(admin + "/metrics", headers=PLAIN) as answer:
        text = await answer.text()
    return {name: int(float(count)) for name, count in re.findall(r"^freshet_(compress\w+) (\S+)", text, re.M)}


async def subscription(send, messages):
    await send(json.dumps({"type": "connection_init"}))
    async for text in messages:
        message = json.loads(text)
        if message["type"] == "connection_ack":
            await send(json.dumps({"id": "1", "type": "subscribe", "payload": clients.PAYLOAD}))
        else:
            assert message["type"] == "next", message
            yield clients.described(message["payload"]["data"])


async def websockets_socket(base, compresses):
    """Asks for a window of 12 bits."""
    offers = [ClientPerMessageDeflateFactory(server_max_window_bits=12, client_max_window_bits=12)]
    async with websockets.connect(
            base.replace("http", "ws") + "/graphql", subprotocols=["graphql-transport-ws"],
            compression=None, extensions=offers if compresses else None) as ws:
        agreed = ws.response.headers.get("sec-websocket-extensions", "")
        assert ("server_max_window_bits=12" in agreed) == bool(compresses), agreed
        async for description in subscription(ws.send, ws):
            yield description


async def aiohttp_socket(session, base):
    """aiohttp asks for the largest window."""
    async with session.ws_connect(base + "/graphql", protocols=["graphql-transport-ws"], compress=15) as ws:
        assert ws.compress == 15, ws.compress

        async def texts():
            async for message in ws:
                assert message.type == aiohttp.WSMsgType.TEXT, message
                yield message.data

        async for description in subscription(ws.send_str, texts()):
            yield description


async def stream(session, base, method, path, accept, coding):
    body = {"json": clients.PAYLOAD} if method == "POST" else {}
    headers = {"accept": accept, "accept-encoding": coding}
    async with session.request(method, base + path, headers=headers, **body) as answer:
        assert answer.status == 200, answer.status
        assert answer.headers.get("content-encoding", "identity") == coding, answer.headers
        assert answer.headers["vary"] == "Accept-Encoding", answer.headers
        text = b""
        async for chunk in answer.content.iter_any():
            text += chunk
            while b"\n" in text:
                line, _, text = text.partition(b"\n")
                line = line.removeprefix(b"data: ").strip()
                if not line.startswith(b"{") or line == b"{}":
                    continue
                message = json.loads(line)
                yield clients.described(message.get("payload", message)["data"])


async def polls(session, base, coding, origin):
    """With an Origin, as from a page, the response has headers of its own."""
    tag = None
    while True:
        headers = {"prefer": "wait=20", "accept-encoding": coding} | ({"origin": origin} if origin else {})
        if tag:
            headers["if-none-match"] = tag
        async with session.get(base + PATH, headers=headers) as answer:
            text = await answer.text()
            assert answer.headers["vary"] == "Accept-Encoding", answer.headers
            if answer.status == 304:
                continue
            assert answer.status == 200, (answer.status, text)
            assert answer.headers.get("content-encoding", "identity") == coding, answer.headers
            tag = answer.headers["etag"]
            # A weak tag says that other bytes may have the same meaning.
            assert tag.startswith("W/") == (coding == "gzip"), tag
            yield clients.described(json.loads(text)["data"])


async def tags_match_whatever_the_coding(session, base):
    async def get(coding, tag=None, method="GET"):
        headers = {"accept-encoding": coding} | ({"if-none-match": tag} if tag else {})
        async with session.request(method, base + PATH, headers=headers) as answer:
            return answer.status, answer.headers, await answer.read()

    status, compressed, body = await get("gzip")
    assert status == 200 and compressed["content-encoding"] == "gzip", compressed
    status, plain, same = await get("identity")
    assert status == 200 and "content-encoding" not in plain and same == body and len(body) > 1024, plain
    assert compressed["etag"] == "W/" + plain["etag"], (compressed, plain)
    assert int(compressed["content-length"]) < len(body) / 2
    for coding in ["gzip", "identity"]:
        for tag in [compressed["etag"], plain["etag"]]:
            status, headers, nothing = await get(coding, tag)
            assert status == 304 and nothing == b"" and headers["etag"] == tag, (coding, tag, status, headers)
            assert headers["vary"] == "Accept-Encoding" and "content-encoding" not in headers, headers
    status, head, nothing = await get("gzip", method="HEAD")
    assert status == 200 and nothing == b"" and head["content-length"] == compressed["content-length"], head
    # One-shot operations, small and large; errors are sent as they are.
    for body, coding in [(clients.PAYLOAD, "gzip"), ({"query": "{ __typename }"}, None)]:
        async with session.post(base + "/graphql", json=body, headers={"accept-encoding": "gzip"}) as answer:
            assert answer.headers.get("content-encoding") == coding, answer.headers
            assert "errors" not in await answer.json()
    unknown = {"operationName": "x" * 3000, "query": ""}
    async with session.post(base + "/graphql", json=unknown, headers={"accept-encoding": "gzip"}) as answer:
        assert "content-encoding" not in answer.headers, answer.headers
        assert "errors" in await answer.json(content_type=None)


async def clients_may_compress(base):
    """What a client sends is compressed, too, if it is long."""
    async with websockets.connect(
            base.replace("http", "ws") + "/graphql", subprotocols=["graphql-transport-ws"]) as ws:
        await ws.send(json.dumps({"type": "connection_init", "payload": {"padding": "x" * 50_000}}))
        assert json.loads(await ws.recv())["type"] == "connection_ack"
        for number in range(3):
            await ws.send(json.dumps({"type": "ping", "payload": {"number": number, "text": "y" * 5_000}}))
            pong = json.loads(await ws.recv())
            assert pong["payload"] == {"number": number, "text": "y" * 5_000}, pong
        # A bomb.
        await ws.send("z" * (4 << 20))
        try:
            await ws.recv()
            raise AssertionError("a message past the maximum was accepted")
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 1009, closed


async def main(base, admin):
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None), connector=connector) as session:
        async with session.get(base + PATH, headers=PLAIN) as answer:
            lot = (await answer.json())["data"]["lots"][0]["id"]
        await clients.change(session, base, lot, "before")
        await tags_match_whatever_the_coding(session, base)
        await clients_may_compress(base)

        def follow(number):
            coding = "gzip" if number % 4 else "identity"
            return [
                websockets_socket(base, number % 4), aiohttp_socket(session, base),
                stream(session, base, "GET", PATH, "text/event-stream", coding),
                stream(session, base, "POST", "/graphql", "text/event-stream", coding),
                stream(session, base, "POST", "/graphql", "multipart/mixed;subscriptionSpec=1.0", coding),
                polls(session, base, coding, "http://page" if number % 2 else None)]

        followers = [follower for number in range(SESSIONS) for follower in follow(number)]

        async def all_see(description):
            async def see(follower):
                while await asyncio.wait_for(anext(follower), 60) != description:
                    pass
            await asyncio.gather(*map(see, followers))

        await all_see("before")
        first = await metrics(session, admin)
        for number in range(CHANGES):
            # Polls begin again when they are asked for the next result.
            seen = asyncio.create_task(all_see("n%d" % number))
            await asyncio.sleep(0.2)
            await clients.change(session, base, lot, "n%d" % number)
            await seen
        then = await metrics(session, admin)
        later = {name: then[name] - first[name] for name in then}
        compressing = SESSIONS + 5 * sum(1 for number in range(SESSIONS) if number % 4)
        print("followers", len(followers), "of them compressing", compressing, "changes", CHANGES, later)
        # Messages over WebSockets in two windows, three kinds of streams, the answer to polls.
        assert later["compressions"] == 6 * CHANGES, later
        assert later["compressed_messages"] == compressing * CHANGES, later
        assert later["compressed_sent_bytes"] < later["compressed_message_bytes"] / 2, later
        assert later["compressions_over_budget"] == 0, later
    print("passed", flush=True)
    os._exit(0)


asyncio.run(main(sys.argv[1], sys.argv[2]))
