"""Many clients of every protocol follow one live query; how often its results were encoded is what the node counts.

    encoding_client.py http://HOST:PORT http://ADMIN:PORT

The node has one event loop. Each protocol has SESSIONS sessions, with ids of their own where a client chooses them.
"""

import asyncio
import json
import os
import re
import sys
import urllib.parse

import aiohttp

# Without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import slow_client as clients  # noqa: E402

SESSIONS, CHANGES = 24, 5
# The form in which each protocol's results are; AppSync's is that of graphql-ws.
FORMS = ["next", "data", "sqlConnect", "sqlConnectProtobuf", "resource", "graphQLSSE", "multipart"]


async def counts(session, admin):
    async with session.get(admin + "/metrics") as answer:
        text = await answer.text()
    found = re.findall(r'^freshet_gateway_encodings_total\{form="(\w+)"\} (\d+)', text, re.M)
    return {form: int(count) for form, count in found}


async def main(base, admin):
    path = "/v1/connectors/auctions/queries/%s?variables=%s" % (
        clients.OPERATION, urllib.parse.quote(json.dumps(clients.CATEGORY)))
    async with aiohttp.ClientSession() as session:
        async with session.get(base + path) as answer:
            lot = (await answer.json())["data"]["lots"][0]["id"]
        await clients.change(session, base, lot, "before")

        def follow(number):
            id = "id-%d" % number
            return [clients.graphql_socket(base, name, id) for name in
                    ["graphql-transport-ws", "graphql-ws", "appsync"]] + [
                clients.sql_connect(base), clients.grpc_stream(clients.grpc_channel(base)),
                clients.stream(base, "GET", path, "text/event-stream"),
                clients.stream(base, "POST", "/graphql", "text/event-stream"),
                clients.stream(base, "POST", "/graphql", "multipart/mixed;subscriptionSpec=1.0")]

        followers = [result for number in range(SESSIONS) for result in follow(number)]

        async def all_see(description):
            async def see(follower):
                while await asyncio.wait_for(anext(follower), 60) != description:
                    pass
            await asyncio.gather(*map(see, followers))

        await all_see("before")
        first = await counts(session, admin)
        for number in range(CHANGES):
            await clients.change(session, base, lot, "n%d" % number)
            await all_see("n%d" % number)
        then = await counts(session, admin)
        later = {form: then.get(form, 0) - first.get(form, 0) for form in FORMS}
        print("sessions", len(followers), "changes", CHANGES, "encodings", later, "of first results", first)
        assert later == {form: CHANGES for form in FORMS}, later
        # Newcomers share as well; each further run of the live query while they arrive has an encoding of its own.
        assert all(1 <= first[form] <= SESSIONS // 2 for form in FORMS), first
    print("passed", flush=True)
    os._exit(0)


asyncio.run(main(sys.argv[1], sys.argv[2]))
