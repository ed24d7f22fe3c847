"""A mutation that is sent twice with its idempotency key, in each protocol's own place: applied once, and answered
alike; then the same key with other variables, refused in the protocol's own form.

    idempotency_client.py plain|graphql|sockets|shared|sql-connect|grpc http://HOST:PORT TOKEN
"""

import asyncio
import json
import os
import sys
import uuid

import aiohttp

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402
from session_client import Protocol, until  # noqa: E402
from sql_connect_client import NAME, NEW_PATH, Stream  # noqa: E402

REUSED = "IDEMPOTENCY_KEY_REUSED"
HEADER = "Idempotency-Key"


def expect(actual, wanted, what):
    if actual != wanted:
        raise SystemExit("%s: %r instead of %r" % (what, actual, wanted))


class Asker:
    """Mutations that leave a row each; the answer is the row's key, which the server made."""

    def __init__(self, session, base, token):
        self.session, self.base, self.token = session, base, token

    async def post(self, path, body, **headers):
        async with self.session.post(self.base + path, json=body, headers=headers) as answer:
            return answer.status, json.loads(await answer.read())

    async def get(self, operation, variables):
        async with self.session.get("%s/v1/connectors/auctions/queries/%s" % (self.base, operation), params={
                "variables": json.dumps(variables)}) as answer:
            return (await answer.json())["data"]

    async def begin(self):
        self.lot = (await self.get("ListLots", {"category": "Books"}))["lots"][0]["id"]
        return self

    def variables(self, text):
        return {"lotId": self.lot, "name": "Ann", "text": text}

    async def count(self, text):
        """How often a question was asked."""
        questions = (await self.get("LotQuestions", {"lotId": self.lot, "limit": 500}))["questions"]
        return sum(question["text"] == text for question in questions)

    async def twice(self, name, send, refused):
        """
        send: takes the variables and the key, and returns the row's key.
        refused: takes the same, and checks the answer to a key that was used with other variables.
        """
        key, text = str(uuid.uuid4()), "by " + name
        first = await send(self.variables(text), key)
        assert first, name
        expect(await send(self.variables(text), key), first, name + ": the answer to a retry")
        expect(await self.count(text), 1, name + ": applied")
        await refused(self.variables(text + ", changed"), key)
        expect(await self.count(text + ", changed"), 0, name + ": refused")
        # Another key, another mutation.
        assert await send(self.variables(text), str(uuid.uuid4())) != first, name
        expect(await self.count(text), 2, name + ": another key")


def key_of(data):
    return data["question_insert"]["id"]


async def plain(asker):
    path = "/v1/connectors/auctions/mutations/AskQuestion"
    for name, place in (
            ("header", lambda key: ({HEADER: key}, {})), ("quoted header", lambda key: ({HEADER: '"%s"' % key}, {})),
            ("body", lambda key: ({}, {"extensions": {"idempotencyKey": key}}))):
        async def call(variables, key):
            headers, body = place(key)
            return await asker.post(path, {"variables": variables, **body}, **headers)

        async def send(variables, key):
            status, answer = await call(variables, key)
            expect(status, 200, "plain")
            return key_of(answer["data"])

        async def refused(variables, key):
            status, answer = await call(variables, key)
            expect((status, answer["errors"][0]["extensions"]["code"]), (422, REUSED), "plain, refused")

        await asker.twice("plain, " + name, send, refused)
    for headers, body in (
            ({HEADER: "k" * 256}, {}), ({HEADER: '"open'}, {}), ({HEADER: "short"}, {}),
            ({HEADER: str(uuid.uuid4())}, {"extensions": {"idempotencyKey": str(uuid.uuid4())}})):
        status, answer = await asker.post(path, {"variables": asker.variables("never"), **body}, **headers)
        expect((status, answer["errors"][0]["extensions"]["code"]), (400, "BAD_REQUEST"), "bad key %r" % headers)
    expect(await asker.count("never"), 0, "bad keys")


async def graphql(asker):
    for accept in ("application/json", "application/graphql-response+json", "text/event-stream"):
        for name, place in (
                ("header", lambda key: ({HEADER: key}, {})),
                ("body", lambda key: ({}, {"extensions": {"idempotencyKey": key}}))):
            async def call(variables, key):
                headers, body = place(key)
                async with asker.session.post(asker.base + "/graphql", headers={"accept": accept, **headers}, json={
                        "operationName": "AskQuestion", "variables": variables, **body}) as answer:
                    text = (await answer.read()).decode()
                    if accept == "text/event-stream":
                        text = text.split("data: ")[1].split("\n")[0]
                    return answer.status, json.loads(text)

            async def send(variables, key):
                status, answer = await call(variables, key)
                expect(status, 200, "graphql")
                return key_of(answer["data"])

            async def refused(variables, key):
                status, answer = await call(variables, key)
                # A stream that has begun is 200.
                expect(status, 200 if accept == "text/event-stream" else 422, "graphql, refused")
                expect(answer["errors"][0]["extensions"]["code"], REUSED, "graphql, refused")

            await asker.twice("graphql, %s, %s" % (accept, name), send, refused)


async def sockets(asker):
    for name in ("graphql-transport-ws", "graphql-ws", "appsync"):
        protocol = await Protocol(name, asker.base, asker.token).introduce()

        async def call(variables, key):
            identifier = str(uuid.uuid4())
            await protocol.start(identifier, {
                "operationName": "AskQuestion", "query": "", "variables": variables,
                "extensions": {"idempotencyKey": key}})
            message = await protocol.receive()
            if message["type"] in ("next", "data"):
                expect((await protocol.receive())["type"], "complete", name)
            return message

        async def send(variables, key):
            return key_of((await call(variables, key))["payload"]["data"])

        async def refused(variables, key):
            message = await call(variables, key)
            expect(message["type"], "error", name)
            errors = message["payload"]
            if name == "appsync":
                expect((errors["errors"][0]["errorType"], errors["errors"][0]["errorCode"]),
                       ("BadRequestException", 422), name)
            else:
                error = errors[0] if isinstance(errors, list) else errors
                expect(error["extensions"]["code"], REUSED, name)

        await asker.twice(name, send, refused)


async def shared(asker):
    """graphql-sse, single connection."""
    async with asker.session.put(asker.base + "/graphql") as answer:
        reserved = {"x-graphql-event-stream-token": await answer.text()}
    stream = await asker.session.get(asker.base + "/graphql", headers={"accept": "text/event-stream", **reserved})

    async def call(variables, key):
        identifier = str(uuid.uuid4())
        async with asker.session.post(asker.base + "/graphql", headers={**reserved, HEADER: key}, json={
                "operationName": "AskQuestion", "variables": variables,
                "extensions": {"operationId": identifier}}) as answer:
            expect(answer.status, 202, "shared stream")
        text = await until(stream, "event: complete")
        events = [line for line in text.split("\n") if line.startswith("data: ") and identifier in line]
        return json.loads(events[0][len("data: "):])["payload"]

    async def send(variables, key):
        return key_of((await call(variables, key))["data"])

    async def refused(variables, key):
        expect((await call(variables, key))["errors"][0]["extensions"]["code"], REUSED, "shared stream")

    await asker.twice("graphql-sse", send, refused)
    stream.close()


async def sql_connect(asker):
    async def call(variables, key):
        return await asker.post("/v1/%s:executeMutation" % NAME, {
            "name": NAME, "operationName": "AskQuestion", "variables": variables}, **{HEADER: key})

    async def send(variables, key):
        status, answer = await call(variables, key)
        expect(status, 200, "SQL Connect")
        return key_of(answer["data"])

    async def refused(variables, key):
        status, answer = await call(variables, key)
        expect((status, answer["code"]), (422, 3), "SQL Connect")

    await asker.twice("SQL Connect", send, refused)

    async with asker.session.ws_connect(asker.base + NEW_PATH) as socket:
        web = Stream(socket)
        await web.send(name=NAME, headers={"X-Firebase-Auth-Token": asker.token})

        async def ask(variables, key):
            identifier = str(uuid.uuid4())
            await web.send(requestId=identifier, headers={HEADER: key}, execute={
                "operationName": "AskQuestion", "variables": variables})
            return await web.next()

        async def send_in_stream(variables, key):
            return key_of((await ask(variables, key))["data"])

        async def refused_in_stream(variables, key):
            (error,) = (await ask(variables, key))["errors"]
            expect((error["extensions"]["code"], error["extensions"]["debugDetails"]), ("INVALID_ARGUMENT", REUSED),
                   "SQL Connect's socket")

        await asker.twice("SQL Connect's socket", send_in_stream, refused_in_stream)


async def grpc_calls(asker):
    import grpc
    messages, services = connector_stubs()
    async with grpc.aio.insecure_channel(asker.base.split("://")[1]) as channel:
        unary = services.ConnectorServiceStub(channel)

        async def send(variables, key):
            call = messages.ExecuteMutationRequest(name=NAME, operation_name="AskQuestion")
            call.variables.update(variables)
            answer = await unary.ExecuteMutation(call, metadata=(("idempotency-key", key),))
            return answer.data["question_insert"]["id"]

        async def refused(variables, key):
            try:
                await send(variables, key)
            except grpc.aio.AioRpcError as error:
                expect(error.code(), grpc.StatusCode.INVALID_ARGUMENT, "gRPC")
                return
            raise SystemExit("gRPC: accepted")

        await asker.twice("gRPC", send, refused)

        requests = asyncio.Queue()

        async def sent():
            while True:
                yield await requests.get()

        answers = services.ConnectorStreamServiceStub(channel).Connect(sent()).__aiter__()

        async def ask(variables, key):
            message = messages.StreamRequest(name=NAME, request_id=str(uuid.uuid4()))
            message.headers["idempotency-key"] = key
            message.execute.operation_name = "AskQuestion"
            message.execute.variables.update(variables)
            await requests.put(message)
            return await asyncio.wait_for(answers.__anext__(), 10)

        async def send_in_stream(variables, key):
            return (await ask(variables, key)).data["question_insert"]["id"]

        async def refused_in_stream(variables, key):
            (error,) = (await ask(variables, key)).errors
            expect((error.extensions.code, error.extensions.debug_details), (3, REUSED), "gRPC's stream")

        await asker.twice("gRPC's stream", send_in_stream, refused_in_stream)


PARTS = {"plain": plain, "graphql": graphql, "sockets": sockets, "shared": shared, "sql-connect": sql_connect,
         "grpc": grpc_calls}


async def main(part, base, token):
    async with aiohttp.ClientSession() as session:
        await PARTS[part](await Asker(session, base, token).begin())
    print("passed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
