"""What stands on the wire of `/graphql` over HTTP, by aiohttp: multipart subscriptions, graphql-sse in both modes,
status codes and media types of GraphQL over HTTP.

    http_client.py multipart|sse|single|http http://HOST:PORT TOKEN
"""

import asyncio
import hashlib
import json
import sys

import aiohttp

TEXT = """%s ListLots($category: String) {
  lots(where: {category: {eq: $category}, open: {eq: true}, closesAt: {gt_time: {now: true}}},
       orderBy: [{closesAt: ASC}], limit: 10) { id title category description highestBid closesAt }
}"""
CATEGORY = {"category": "Ceramics"}
SUBSCRIPTION = {"query": TEXT % "subscription", "variables": CATEGORY}
QUERY = {"query": TEXT % "query", "variables": CATEGORY}
JSON = "application/json"
RESPONSE = "application/graphql-response+json"
PART = b"\r\ncontent-type: application/json\r\n\r\n"
TOKEN = "x-graphql-event-stream-token"


def expect(actual, wanted, what):
    if actual != wanted:
        raise SystemExit("%s: %r instead of %r" % (what, actual, wanted))


class Test:
    def __init__(self, session, base, token):
        self.session, self.base, self.token = session, base, token
        self.url = base + "/graphql"

    async def change(self, lot, description):
        body = {"operationName": "EditLot",
                "variables": {"id": lot, "category": CATEGORY["category"], "description": description}}
        async with self.session.post(self.url, json=body) as answer:
            expect(answer.status, 200, "mutation")
            assert "errors" not in await answer.json()

    async def read_until(self, content, end):
        text = b""
        while not text.endswith(end):
            chunk = await asyncio.wait_for(content.readany(), 10)
            if not chunk:
                raise SystemExit("the stream ended: %r" % text)
            text += chunk
        return text

    # Multipart subscriptions

    async def part(self, content):
        """The next part that is no heartbeat. Each comes with the delimiter after it."""
        while True:
            text = b""
            while not text.endswith(b"\r\n--graphql"):
                text += await asyncio.wait_for(content.readuntil(b"--graphql"), 10)
            head, body = text[:-len(b"\r\n--graphql")].split(b"\r\n\r\n", 1)
            length = b"\r\ncontent-length: %d" % len(body) if self.sized else b""
            expect(head + b"\r\n\r\n", PART[:-4] + length + b"\r\n\r\n", "head of a part")
            if body != b"{}":
                return json.loads(body)
            self.heartbeats += 1

    async def multipart(self):
        self.heartbeats = 0
        for accept in ['multipart/mixed;subscriptionSpec=1.0,%s,%s' % (RESPONSE, JSON),
                       'multipart/mixed;boundary="graphql";subscriptionSpec="1.0",application/json']:
            # Clients that ask for the boundary read the length of each part.
            self.sized = "boundary" in accept
            heartbeat = (PART[:-4] + b"\r\ncontent-length: 2\r\n\r\n" if self.sized else PART) + b"{}\r\n--graphql"
            async with self.session.post(self.url, json=SUBSCRIPTION, headers={"accept": accept}) as answer:
                expect(answer.status, 200, "status")
                expect(answer.headers["content-type"], "multipart/mixed;boundary=graphql;subscriptionSpec=1.0", "type")
                expect(await answer.content.readexactly(11), b"\r\n--graphql", "first delimiter")
                expect(await answer.content.readexactly(len(heartbeat)), heartbeat, "first heartbeat")
                first = await self.part(answer.content)
                lot = first["payload"]["data"]["lots"][0]["id"]
                await self.change(lot, "multipart " + accept)
                while True:
                    rows = (await self.part(answer.content))["payload"]["data"]["lots"]
                    if any(row["description"] == "multipart " + accept for row in rows):
                        break
                before = self.heartbeats
                expect(await answer.content.readexactly(len(heartbeat)), heartbeat, "heartbeat")
        # A query is one answer; errors before the stream are one answer, too.
        headers = {"accept": "multipart/mixed;subscriptionSpec=1.0,application/json"}
        async with self.session.post(self.url, json=QUERY, headers=headers) as answer:
            expect(answer.headers["content-type"], JSON + "; charset=utf-8", "type of a query")
            assert len((await answer.json())["data"]["lots"]) == 10
        wrong = {"query": "subscription Nothing { nothing }"}
        async with self.session.post(self.url, json=wrong, headers=headers) as answer:
            expect(answer.headers["content-type"], JSON + "; charset=utf-8", "type of an error")
            expect((await answer.json())["errors"][0]["extensions"]["code"], "OPERATION_NOT_FOUND", "code")

    # graphql-sse

    async def event(self, content):
        """The next event, `(name, data)`; comments are skipped."""
        while True:
            text = (await asyncio.wait_for(content.readuntil(b"\n\n"), 10)).decode()
            if text == ":\n\n":
                continue
            lines = text[:-2].split("\n")
            assert len(lines) == 2 and lines[0].startswith("event: ") and lines[1].startswith("data: "), text
            return lines[0][7:], lines[1][6:]

    async def sse(self):
        headers = {"accept": "text/event-stream"}
        for start in [lambda: self.session.post(self.url, json=SUBSCRIPTION, headers=headers),
                      lambda: self.session.get(self.url, headers=headers, params={
                          "query": SUBSCRIPTION["query"], "variables": json.dumps(CATEGORY)})]:
            async with start() as answer:
                expect(answer.status, 200, "status")
                expect(answer.headers["content-type"], "text/event-stream", "type")
                expect(answer.headers["cache-control"], "no-cache", "cache-control")
                expect(await answer.content.readexactly(3), b":\n\n", "first comment")
                name, data = await self.event(answer.content)
                expect(name, "next", "event")
                lot = json.loads(data)["data"]["lots"][0]["id"]
                await self.change(lot, "sse %s" % answer.method)
                while True:
                    name, data = await self.event(answer.content)
                    if any(row["description"] == "sse %s" % answer.method for row in json.loads(data)["data"]["lots"]):
                        break
        # A query is one event and the end; so are errors.
        async with self.session.post(self.url, json=QUERY, headers=headers) as answer:
            name, data = await self.event(answer.content)
            assert name == "next" and len(json.loads(data)["data"]["lots"]) == 10
            expect(await answer.content.read(), b"event: complete\ndata: \n\n", "end")
        for wrong in [{"query": "subscription Nothing { nothing }"}, {"query": "{"},
                      {"query": TEXT % "subscription", "variables": {"category": 1}}]:
            async with self.session.post(self.url, json=wrong, headers=headers) as answer:
                expect(answer.status, 200, "status of an error")
                name, data = await self.event(answer.content)
                assert name == "next" and "errors" in json.loads(data) and "data" not in json.loads(data)
                expect(await answer.content.read(), b"event: complete\ndata: \n\n", "end")
        async with self.session.post(self.url, data=b"{", headers={**headers, "content-type": JSON}) as answer:
            expect(answer.status, 400, "no JSON at all")

    # graphql-sse, single connection

    async def single(self):
        async with self.session.put(self.url) as answer:
            expect(answer.status, 201, "reservation")
            expect(answer.headers["content-type"].split(";")[0], "text/plain", "type")
            token = await answer.text()
        mine = {TOKEN: token}
        events = {**mine, "accept": "text/event-stream"}

        def operation(identifier, body):
            return {**body, "extensions": {"operationId": identifier}}

        async def post(identifier, body, status, headers=mine):
            async with self.session.post(self.url, json=operation(identifier, body), headers=headers) as answer:
                expect(answer.status, status, "operation " + str(identifier))
                return await answer.read()

        # Before the stream is open results are held.
        expect(await post("early", QUERY, 202), b"", "body")
        expect(await post("live", SUBSCRIPTION, 202), b"", "body")
        await post("live", SUBSCRIPTION, 409)
        await post(None, QUERY, 400)
        await post("x", {"query": "{ nothing }"}, 404)
        await post("x", QUERY, 404, {TOKEN: "unknown"})
        # Health checks need no stored operation.
        expect(await post("name", {"query": "{ __typename }"}, 202), b"", "body")
        await post("x", QUERY, 406, {**mine, "accept": "text/html"})
        async with self.session.get(self.url, headers=events) as stream:
            expect(stream.status, 200, "stream")
            expect(stream.headers["content-type"], "text/event-stream", "type")
            seen = {}
            while not {"early", "live", "name", "complete early", "complete name"} <= seen.keys():
                name, data = await self.event(stream.content)
                data = json.loads(data)
                if name == "next":
                    seen[data["id"]] = data["payload"]["data"]
                else:
                    seen["complete " + data["id"]] = True
            assert len(seen["early"]["lots"]) == 10
            expect(seen["name"], {"__typename": "Query"}, "health check")
            async with self.session.get(self.url, headers=events) as second:
                expect(second.status, 409, "a second stream")
            async with self.session.put(self.url, headers=mine) as again:
                expect(again.status, 409, "a token in use")
            await self.change(seen["live"]["lots"][0]["id"], "single")
            while True:
                name, data = await self.event(stream.content)
                data = json.loads(data)
                expect((name, data["id"]), ("next", "live"), "event")
                if any(row["description"] == "single" for row in data["payload"]["data"]["lots"]):
                    break
            for query, headers, status in [
                    ("?operationId=live", {}, 404), ("?operationId=live", {TOKEN: "unknown"}, 404), ("", mine, 400),
                    ("?operationId=live", mine, 200), ("?operationId=live", mine, 200)]:
                if not headers:
                    continue
                async with self.session.delete(self.url + query, headers=headers) as answer:
                    expect(answer.status, status, "DELETE " + query)
            # Nothing comes for what was ended; its id is free.
            await self.change(seen["live"]["lots"][0]["id"], "not announced")
            await post("live", QUERY, 202)
            name, data = await self.event(stream.content)
            assert name == "next" and json.loads(data)["id"] == "live", data
            name, data = await self.event(stream.content)
            expect((name, json.loads(data)), ("complete", {"id": "live"}), "end")
            # With a token in the query, as EventSource has it.
            async with self.session.post(self.url + "?token=" + token, json=operation("q", QUERY)) as answer:
                expect(answer.status, 202, "token in the query")
            expect(json.loads((await self.event(stream.content))[1])["id"], "q", "id")
        # The stream has gone, and the token with it.
        for _ in range(100):
            async with self.session.post(self.url, json=operation("x", QUERY), headers=mine) as answer:
                if answer.status == 404:
                    return
            await asyncio.sleep(0.05)
        raise SystemExit("the token outlives its stream")

    # GraphQL over HTTP

    async def answer(self, method, status, accept=None, wanted=None, data=None, kind=JSON, **more):
        headers = {"content-type": kind} if method == "POST" and kind else {}
        if accept:
            headers["accept"] = accept
        body = json.dumps(data).encode() if isinstance(data, dict) else data
        async with self.session.request(
                method, self.url, data=body, headers=headers, skip_auto_headers=["Content-Type"], **more) as answer:
            what = "%s %s accept %s" % (method, data or more, accept)
            expect(answer.status, status, what)
            if wanted:
                expect(answer.headers["content-type"], wanted + "; charset=utf-8", what)
            text = await answer.read()
            return json.loads(text) if text else None

    async def http(self):
        for accept, wanted in [(None, JSON), ("*/*", JSON), (JSON, JSON), (RESPONSE, RESPONSE),
                               (RESPONSE + ", " + JSON, RESPONSE), (JSON + ";q=0.1, " + RESPONSE, RESPONSE)]:
            found = await self.answer("POST", 200, accept, wanted, QUERY)
            expect(len(found["data"]["lots"]), 10, "rows")
        await self.answer("POST", 406, "text/html", data=QUERY)
        # GET
        found = await self.answer("GET", 200, params={"query": QUERY["query"], "variables": json.dumps(CATEGORY)})
        expect(len(found["data"]["lots"]), 10, "rows of GET")
        await self.answer("GET", 400, params={"query": "", "operationName": ""})
        await self.answer("GET", 400, params={"query": QUERY["query"], "variables": "[1]"})
        mutation = {"operationName": "EditCategory", "variables": json.dumps({"category": "x", "description": "y"})}
        await self.answer("GET", 405, params=mutation)
        await self.answer("PATCH", 405)
        # What is no request: 400 under both types. What is none of ours: 400 and 200.
        for data in [b"{", b"[]", b"1", b"{}", b'{"query":1}', b'{"query":"{a}","variables":[]}',
                     b'{"query":"{a}","variables":"x"}', b'{"query":"{a}","operationName":1}',
                     b'{"query":"{a}","extensions":[]}', b'{"documentId":"sha256:0"}']:
            for accept in [JSON, RESPONSE]:
                assert "data" not in await self.answer("POST", 400, accept, accept, data)
        for data in [{"query": "{"}, {"query": "{ nothing }"}, {"operationName": "Nothing"},
                     {"query": QUERY["query"], "variables": {"category": 1}},
                     {"query": QUERY["query"], "variables": {"unknown": 1}},
                     {"query": QUERY["query"] + " query Other { a }"},
                     {"documentId": "sha256:" + "0" * 64}]:
            for accept, status in [(JSON, 200), (RESPONSE, 400)]:
                answer = await self.answer("POST", status, accept, accept, data)
                assert len(answer["errors"]) == 1 and "data" not in answer, answer
        await self.answer("POST", 415, data=QUERY, kind=None)
        await self.answer("POST", 415, data=QUERY, kind="text/plain")
        await self.answer("POST", 200, data=QUERY, kind="application/json; charset=utf-8")
        await self.answer("POST", 200, data={**QUERY, "unknown": 1, "operationName": None, "extensions": None})
        # Subscriptions need a stream.
        await self.answer("POST", 406, JSON, JSON, SUBSCRIPTION)
        # The same selections in another layout, without a name, under a name of the client's own.
        for text in [TEXT.replace("ListLots", "") % "query", TEXT.replace("ListLots", "Mine") % "query",
                     " ".join((TEXT % "query").split()).replace(": ", " :"), "# mine\n" + TEXT % "query"]:
            found = await self.answer("POST", 200, data={"query": text, "variables": CATEGORY})
            expect(len(found["data"]["lots"]), 10, "rows of " + text)
        # The digest of the stored text.
        with open(sys.argv[4]) as file:
            stored = file.read()
        start = stored.index("query ListLots(")
        text = stored[start:stored.index("\n}\n", start) + 2]
        digest = hashlib.sha256(text.encode()).hexdigest()
        for data in [{"documentId": "sha256:" + digest}, {"documentId": digest},
                     {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}},
                     {"documentId": "sha256:" + digest, "operationName": "ListLots"}]:
            found = await self.answer("POST", 200, RESPONSE, RESPONSE, {**data, "variables": CATEGORY})
            expect(len(found["data"]["lots"]), 10, "rows of a digest")
        found = await self.answer("GET", 200, params={"documentId": digest, "variables": json.dumps(CATEGORY)})
        expect(len(found["data"]["lots"]), 10, "rows of a digest by GET")
        await self.answer("POST", 400, RESPONSE, data={"documentId": digest, "operationName": "GetLot"})
        missing = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}}
        answer = await self.answer("POST", 200, JSON, JSON, missing)
        expect([error["message"] for error in answer["errors"]], ["PersistedQueryNotFound"], "errors")
        # Tokens.
        headers = {"authorization": "Bearer forged"}
        async with self.session.post(self.url, json=QUERY, headers=headers) as answer:
            expect(answer.status, 401, "forged token")
        account = {"operationName": "MyAccount"}
        async with self.session.post(self.url, json=account) as answer:
            expect(answer.status, 401, "without a token")
        headers = {"authorization": "Bearer " + self.token}
        async with self.session.post(self.url, json=account, headers=headers) as answer:
            expect(answer.status, 200, "with a token")


async def main(what, base, token, *_):
    async with aiohttp.ClientSession() as session:
        await getattr(Test(session, base, token), what)()
    print("passed", flush=True)


asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 120))
