"""PyPI's gql as a client of a Freshet node: each protocol it speaks, as an application would use it.

    gql_client.py PROTOCOL http://HOST:PORT TOKEN
    gql_client.py docs http://HOST:PORT TOKEN docs/clients/gql.md

Reads a list of lots, follows it, changes one of the lots and waits for the news. Then the errors. `docs` runs each
sample of a page as it stands there. Prints what it has done line by line; any surprise ends it with exit code 1.
"""

import ast
import asyncio
import json
import re
import sys

import aiohttp
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.appsync_auth import AppSyncApiKeyAuthentication, AppSyncJWTAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport
from gql.transport.exceptions import TransportError, TransportQueryError
from gql.transport.websockets import WebsocketsTransport

LIST = """
%s ListLots($category: String) {
  # Layout and comments are the client's own.
  lots(where: {category: {eq: $category}, open: {eq: true}, closesAt: {gt_time: {now: true}}},
       orderBy: [{closesAt: ASC}], limit: 10) { id title category description highestBid closesAt }
}
"""
ACCOUNT = "%s MyAccount { user(key: {uid_expr: \"auth.uid\"}) { uid name city about } }"
UPDATE = """
mutation EditLot($id: UUID!, $category: String!, $description: String!) {
  lot_update(id: $id, data: {category: $category, description: $description})
}
"""
CATEGORY = {"category": "Ceramics"}


def request(text, kind, variables=None):
    document = gql(text % kind if "%s" in text else text)
    document.variable_values = variables
    return document


def done(what):
    print(what, flush=True)


async def update(base, lot, description):
    transport = AIOHTTPTransport(base + "/graphql")
    async with Client(transport=transport) as session:
        answer = await session.execute(
            request(UPDATE, None, {"id": lot, "category": CATEGORY["category"], "description": description}))
        assert answer["lot_update"]["id"].replace("-", "") == lot.replace("-", ""), answer


async def shows(stream, description):
    async for result in stream:
        if any(row["description"] == description for row in result["lots"]):
            return


async def news(base, client, name):
    """Two subscriptions at once; one ends early and the other goes on."""
    async with client as session:
        brief = session.subscribe(request(LIST, "subscription", CATEGORY))
        first = await anext(brief)
        await brief.aclose()
        stream = session.subscribe(request(LIST, "subscription", CATEGORY))
        before = await anext(stream)
        assert before == first, (before, first)
        assert len(before["lots"]) == 10, before
        lot = before["lots"][0]["id"]
        for number in range(3):
            description = "%s %d" % (name, number)
            await update(base, lot, description)
            # At once, and not with the next result or heartbeat.
            await asyncio.wait_for(shows(stream, description), 5)
        done("news")
        await stream.aclose()


async def refused(client, text, kind, variables=None):
    """The error of an operation that is refused."""
    try:
        async with client as session:
            async for result in session.subscribe(request(text, kind, variables)):
                raise SystemExit("refused operation gave %r" % result)
    except TransportQueryError as error:
        return json.dumps(error.errors)
    except TransportError as error:
        return repr(error)
    raise SystemExit("refused operation ended without an error")


def websocket(subprotocol):
    def make(base, token=None):
        payload = {"Authorization": "Bearer " + token} if token else {}
        return WebsocketsTransport(
            base.replace("http", "ws") + "/graphql", init_payload=payload, subprotocols=[subprotocol],
            keep_alive_timeout=20 if subprotocol == WebsocketsTransport.APOLLO_SUBPROTOCOL else None)
    return make


def multipart(base, token=None):
    return AIOHTTPTransport(base + "/graphql", headers={"authorization": "Bearer " + token} if token else {})


def appsync(base, token=None):
    host = base.split("//")[1]
    auth = (AppSyncJWTAuthentication(host=host, jwt=token) if token
            else AppSyncApiKeyAuthentication(host=host, api_key="da2-anything"))
    return AppSyncWebsocketsTransport(
        base.replace("http", "ws") + "/graphql/realtime", auth=auth, keep_alive_timeout=20)


def client(transport):
    return Client(transport=transport, fetch_schema_from_transport=False)


async def subscriptions(make, base, token, name):
    await news(base, client(make(base)), name)
    wrong = LIST.replace("title ", "")
    assert "differs from the stored one" in await refused(client(make(base)), wrong, "subscription", CATEGORY)
    answer = await refused(client(make(base)), LIST, "subscription", {"category": 1})
    assert "category" in answer, answer
    done("errors")
    answer = await refused(client(make(base)), ACCOUNT, "subscription")
    assert "auth" in answer.lower(), answer
    answer = await refused(client(make(base, "forged")), ACCOUNT, "subscription")
    done("forged token: " + answer)
    async with client(make(base, token)) as session:
        result = await anext(session.subscribe(request(ACCOUNT, "subscription")))
        assert "user" in result, result
    done("token")


async def one_shot(make, base):
    """Queries and mutations over the same connection."""
    async with client(make(base)) as session:
        found = await session.execute(request(LIST, "query", CATEGORY))
        assert len(found["lots"]) == 10
        try:
            await session.execute(request(LIST, "query", {"category": 1}))
            raise SystemExit("a wrong variable was accepted")
        except TransportQueryError as error:
            assert "category" in str(error), error
    done("one-shot")


async def http(base, token):
    await one_shot(multipart, base)
    async with client(multipart(base, token)) as session:
        assert "user" in await session.execute(request(ACCOUNT, "query"))
    # As Amplify sends it: the token alone.
    async with client(AIOHTTPTransport(base + "/graphql", headers={"Authorization": token})) as session:
        assert "user" in await session.execute(request(ACCOUNT, "query"))
    for wrong in ["a.b.c", "AWS4-HMAC-SHA256 Credential=A/20260101/eu/appsync/aws4_request, Signature=0"]:
        async with aiohttp.ClientSession(headers={"Authorization": wrong}) as session:
            async with session.post(base + "/graphql", json={"query": "{ __typename }"}) as answer:
                body = await answer.json()
                assert answer.status == 401 and body["message"] and body["errors"], body
                assert answer.headers["x-amzn-errortype"] == "UnauthorizedException", answer.headers
    done("token")
    # The health check of gateways needs no stored operation.
    async with client(multipart(base)) as session:
        assert await session.execute(gql("{ __typename }")) == {"__typename": "Query"}


async def with_bid(base):
    """The id of a lot on which somebody has bid."""
    async with client(multipart(base)) as session:
        found = await session.execute(request(LIST, "query"))
        return next(lot["id"] for lot in found["lots"] if lot["highestBid"] is not None)


async def sample(code, page, base, token, lot):
    """Runs the code until it prints for the first time."""
    printed = asyncio.Queue()
    here = code.replace("127.0.0.1:9399", base.split("//")[1])
    compiled = compile(here, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = asyncio.ensure_future(eval(compiled, {"token": token, "lot": lot, "print": printed.put_nowait}))
    waiting = asyncio.ensure_future(printed.get())
    await asyncio.wait({running, waiting}, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        raise running.exception() or SystemExit("the sample ended before it printed:\n" + code)
    assert waiting.done(), "the sample has printed nothing:\n" + code
    running.cancel()
    return waiting.result()


async def docs(base, token, page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    samples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert samples, "no samples in " + page
    lot = await with_bid(base)
    for code in samples:
        amount = await sample(code, page, base, token, lot)
        assert isinstance(amount, (int, float)), amount
        done("sample")
    # The transports of the table.
    transports = re.findall(r"^\| `(\w+Transport\(.*?\))` \|", text, re.MULTILINE)
    assert len(transports) == 3, transports
    host = base.split("//")[1]
    for transport in transports:
        here = transport.replace("//…", "//" + host).replace("=…", "=%r" % host)
        async with client(eval(here, dict(globals(), token=token))) as session:
            result = await asyncio.wait_for(anext(session.subscribe(request(LIST, "subscription", CATEGORY))), 5)
            assert len(result["lots"]) == 10, result
        done("transport")


async def main(protocol, base, token, page=None):
    if protocol == "docs":
        await docs(base, token, page)
    elif protocol == "http":
        await http(base, token)
    elif protocol == "multipart":
        await subscriptions(multipart, base, token, protocol)
    elif protocol == "appsync":
        await subscriptions(appsync, base, token, protocol)
    else:
        await subscriptions(websocket(protocol), base, token, protocol)
        await one_shot(websocket(protocol), base)
    done("passed")


asyncio.run(asyncio.wait_for(main(*sys.argv[1:5]), 120))
