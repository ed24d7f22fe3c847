"""Everything that an SDK may start at once on one connection: 250 subscriptions and 200 operations that run once, which
all come to an end.

    burst_client.py socket|graphql|grpc http://HOST:PORT TOKEN

`gateway.executesPerSessionMax` may be far below 200.
"""

import asyncio
import json
import os
import sys

import aiohttp

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402
from sql_connect_client import NAME, NEW_PATH, Calls, Rest, check, expect  # noqa: E402

SUBSCRIPTIONS, EXECUTES, SECONDS = 250, 200, 60


def variables(number):
    return {"limit": number % 60 + 1}


def ids():
    return [f"s{number}" for number in range(SUBSCRIPTIONS)], [f"e{number}" for number in range(EXECUTES)]


class Seen:
    """The answers by id; the executes in the order in which they came."""

    def __init__(self):
        self.answered, self.order = set(), []

    def add(self, id, data):
        check(data, "%s: %r" % (id, data))
        if id not in self.answered:
            self.answered.add(id)
            self.order.append(id)

    @property
    def is_complete(self):
        return len(self.answered) == SUBSCRIPTIONS + EXECUTES


async def sql_connect_socket(base, token):
    seen = Seen()
    subscriptions, executes = ids()
    async with aiohttp.ClientSession() as session, session.ws_connect(base + NEW_PATH) as socket:
        headers = {"X-Firebase-Auth-Token": token}
        for kind, names in (("subscribe", subscriptions), ("execute", executes)):
            for number, id in enumerate(names):
                message = {"requestId": id, kind: {"operationName": "ClosingSoon", "variables": variables(number)}}
                if number == 0 and kind == "subscribe":
                    message |= {"name": NAME, "headers": headers}
                await socket.send_str(json.dumps(message))
        while not seen.is_complete:
            result = json.loads((await asyncio.wait_for(socket.receive(), SECONDS)).data)["result"]
            seen.add(result["requestId"], result.get("data"))


async def graphql_socket(base, token):
    seen = Seen()
    subscriptions, executes = ids()
    async with aiohttp.ClientSession() as session:
        lot = await Rest(session, base).lot()
    async with aiohttp.ClientSession() as session, session.ws_connect(
        base + "/graphql", protocols=["graphql-transport-ws"]
    ) as socket:
        await socket.send_json({"type": "connection_init", "payload": {"Authorization": "Bearer " + token}})
        expect((await socket.receive_json())["type"], "connection_ack", "introduction")
        for number, id in enumerate(subscriptions + executes):
            payload = {"query": "", "operationName": "ClosingSoon", "variables": variables(number)}
            if id.startswith("e"):
                payload = {"query": "", "operationName": "EditLot", "variables": {
                    "id": lot, "category": "Books", "description": id}}
            await socket.send_json({"id": id, "type": "subscribe", "payload": payload})
        while not seen.is_complete:
            message = json.loads((await asyncio.wait_for(socket.receive(), SECONDS)).data)
            check(message["type"] in ("next", "complete"), "%r" % message)
            if message["type"] == "next":
                seen.add(message["id"], message["payload"].get("data"))


async def grpc_stream(base, token):
    import grpc
    messages, services = connector_stubs()
    seen, calls = Seen(), Calls()
    subscriptions, executes = ids()
    async with grpc.aio.insecure_channel(base.split("://")[1]) as channel:
        service = services.ConnectorStreamServiceStub(channel)
        metadata = (("x-firebase-auth-token", token),)
        answers = service.Connect(calls, metadata=metadata)
        for kind, names in (("subscribe", subscriptions), ("execute", executes)):
            for number, id in enumerate(names):
                request = messages.StreamRequest(name=NAME, request_id=id)
                wanted = getattr(request, kind)
                wanted.operation_name = "ClosingSoon"
                wanted.variables.update(variables(number))
                calls.queue.put_nowait(request)
        unary = services.ConnectorServiceStub(channel)

        def call(number):
            request = messages.ExecuteQueryRequest(name=NAME, operation_name="ClosingSoon")
            request.variables.update(variables(number))
            return unary.ExecuteQuery(request, metadata=metadata, timeout=SECONDS)

        # And as many calls of their own on the same connection.
        beside = asyncio.gather(*(call(number) for number in range(EXECUTES)))
        while not seen.is_complete:
            answer = await asyncio.wait_for(answers.read(), SECONDS)
            seen.add(answer.request_id, answer.data)
        for answer in await beside:
            check("lots" in answer.data, "%r" % answer)
        calls.queue.put_nowait(None)


KINDS = {"socket": sql_connect_socket, "graphql": graphql_socket, "grpc": grpc_stream}

if __name__ == "__main__":
    asyncio.run(KINDS[sys.argv[1]](*sys.argv[2:4]))
    print(sys.argv[1], "passed")
