"""What the SQL Connect SDKs put on the wire and rely on: REST and both WebSocket paths as the web and Flutter SDKs use
them, gRPC as Android and iOS do.

    sql_connect_client.py rest|stream|grpc|hostile|limits|drain http://HOST:PORT TOKEN SECRET [PROCESS]
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import time

import aiohttp

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

PROJECT = "projects/demo-proj/locations/us-central1/services/auctions"
NAME = PROJECT + "/connectors/auctions"
STREAM = "google.firebase.dataconnect.v1.ConnectorStreamService"
NEW_PATH = "/ws/%s.Connect/demo-proj/locations/us-central1/services/auctions" % STREAM
OLD_PATH = "/ws/%s/Connect/locations/us-central1" % STREAM


def expect(actual, wanted, what):
    if actual != wanted:
        raise SystemExit("%s: %r instead of %r" % (what, actual, wanted))


def check(condition, what):
    if not condition:
        raise SystemExit(what)


def signed(secret, uid, lifetime):
    def encode(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    header = encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    payload = encode(json.dumps({
        "sub": uid, "user_id": uid, "exp": int(time.time()) + lifetime,
        "firebase": {"sign_in_provider": "password"}}).encode())
    code = hmac.new(secret.encode(), header + b"." + payload, hashlib.sha256).digest()
    return (header + b"." + payload + b"." + encode(code)).decode()


class Rest:
    def __init__(self, session, base):
        self.session, self.base = session, base

    async def call(self, method, operation, variables=None, token=None, name=NAME, key=""):
        body = {"name": name, "operationName": operation}
        if variables is not None:
            body["variables"] = variables
        headers = {"content-type": "application/json", "x-goog-api-client": "gl-js/ fire/12.18.0",
                   "x-client-version": "web/12.18.0"}
        if token:
            headers["x-firebase-auth-token"] = token
        url = "%s/v1/%s:%s%s" % (self.base, name, method, key)
        async with self.session.post(url, json=body, headers=headers) as answer:
            return answer.status, json.loads(await answer.read())

    async def lot(self, category="Books"):
        status, body = await self.call("executeQuery", "ListLots", {"category": category})
        expect(status, 200, "list")
        return body["data"]["lots"][0]["id"]

    async def describe(self, lot, text, category="Books"):
        status, body = await self.call(
            "executeMutation", "EditLot", {"id": lot, "category": category, "description": text})
        expect((status, body["data"]["lot_update"]["id"]), (200, lot), "mutation")


async def rest(base, token, secret):
    async with aiohttp.ClientSession() as session:
        client = Rest(session, base)
        lot = await client.lot()
        # Success, with ids for the cache.
        status, body = await client.call("executeQuery", "GetLot", {"id": lot}, key="?key=abc")
        expect((status, body["data"]["lot"]["id"]), (200, lot), "query")
        (entity,) = body["extensions"]["dataConnect"]
        expect(entity["path"], ["lot"], "path")
        _, listed = await client.call("executeQuery", "ListLots", {"category": "Books"})
        (entities,) = listed["extensions"]["dataConnect"]
        expect(entities["path"], ["lots"], "path of a list")
        ids = [row["id"] for row in listed["data"]["lots"]]
        expect(entities["entityIds"][ids.index(lot)], entity["entityId"], "the id of a row in two queries")
        # Without variables.
        status, body = await client.call("executeQuery", "ClosingSoon")
        expect((status, "errors" in body), (200, False), "no variables")
        # Bad variables are the operation's own outcome.
        for variables in ({}, {"id": 7}, {"id": lot, "other": 1}):
            status, body = await client.call("executeQuery", "GetLot", variables)
            expect((status, body["data"]), (200, None), "bad variables")
            for error in body["errors"]:
                check(isinstance(error["message"], str) and isinstance(error["path"], list), "error %r" % error)
            expect(body["errors"][0]["extensions"]["code"], "INVALID_ARGUMENT", "code")
        # A constraint of the database.
        status, body = await client.call(
            "executeMutation", "AskQuestion", {"lotId": "0" * 32, "name": "x", "text": "y"})
        expect((status, body["errors"][0]["path"]), (200, ["question_insert"]), "constraint")
        # Failures of the request.
        status, body = await client.call("executeQuery", "MyAccount")
        expect((status, body["code"], body["details"]), (401, 16, []), "signed out")
        check(body["message"].startswith("unauthenticated: "), body["message"])
        status, body = await client.call("executeQuery", "GetLot", {"id": lot}, token="forged")
        expect((status, body["code"]), (401, 16), "forged token")
        status, body = await client.call("executeQuery", "MyAccount", token=token)
        expect((status, "errors" in body), (200, False), "signed in")
        update = {"id": lot, "category": "Books", "description": "x"}
        status, body = await client.call("executeQuery", "EditLot", update)
        expect((status, body["code"]), (404, 5), "a mutation as a query")
        for name, method, operation in (
                (NAME, "executeQuery", "Nothing"), (NAME, "executeMutation", "NewestLots"),
                (PROJECT + "/connectors/none", "executeQuery", "NewestLots"),
                (NAME.replace("us-central1", "eu"), "executeQuery", "NewestLots"),
                (NAME.replace("services/auctions", "services/shops"), "executeQuery", "NewestLots")):
            status, body = await client.call(method, operation, name=name)
            expect((status, body["code"]), (404, 5), name + operation)
            check(isinstance(body["message"], str), "message")
        async with session.post("%s/v1/%s:executeQuery" % (base, NAME), data="{", headers={
                "content-type": "application/json"}) as answer:
            expect((answer.status, (await answer.json())["code"]), (400, 3), "no JSON")
        # A browser asks first, for all headers of the SDK.
        wanted = ("content-type,x-client-version,x-firebase-appcheck,x-firebase-auth-token,x-firebase-gmpid,"
                  "x-goog-api-client")
        async with session.options("%s/v1/%s:executeQuery" % (base, NAME), headers={
                "origin": "http://localhost:5173", "access-control-request-method": "POST",
                "access-control-request-headers": wanted}) as answer:
            expect(answer.status, 204, "preflight")
            expect(answer.headers["access-control-allow-headers"], wanted, "allowed headers")
            expect(answer.headers["access-control-allow-origin"], "*", "allowed origin")
        # Tools ask this of an emulator; only `freshet dev` is one.
        async with session.get(base + "/emulator/info") as answer:
            expect(answer.status, 404, "emulator")


class Stream:
    """One socket; answers are read one by one."""

    def __init__(self, socket):
        self.socket = socket

    async def send(self, **message):
        await self.socket.send_str(json.dumps(message))

    async def next(self, within=10):
        message = await asyncio.wait_for(self.socket.receive(), within)
        expect(message.type, aiohttp.WSMsgType.TEXT, "frame type")
        body = json.loads(message.data)
        expect(list(body), ["result"], "members")
        return body["result"]

    async def quiet(self, seconds):
        try:
            message = await asyncio.wait_for(self.socket.receive(), seconds)
        except asyncio.TimeoutError:
            return
        raise SystemExit("unexpected: %r" % (message,))


async def stream(base, token, secret):
    async with aiohttp.ClientSession() as session:
        client = Rest(session, base)
        lot = await client.lot("Maps")
        headers = {"x-firebase-gmpid": "1:123:web:abc", "X-Goog-Api-Client": "gl-js/ fire/12.18.0",
                   "X-Firebase-Auth-Token": token, "X-Client-Version": "web/12.18.0"}
        request = {"operationName": "GetLot", "variables": {"id": lot}}
        for path in (NEW_PATH, OLD_PATH):
            # The web SDK's first frame; the same id again on the next socket.
            async with session.ws_connect(base + path) as socket:
                web = Stream(socket)
                await web.quiet(0.2)
                await web.send(requestId="1", subscribe=request, name=NAME, headers=headers)
                first = await web.next()
                expect((first["requestId"], first["data"]["lot"]["id"]), ("1", lot), "first result")
                expect(first["extensions"]["dataConnect"][0]["path"], ["lot"], "entities in a push")
                await client.describe(lot, path, "Maps")
                pushed = await web.next()
                expect((pushed["requestId"], pushed["data"]["lot"]["description"]), ("1", path), "push")
                expect(pushed["extensions"], first["extensions"], "the same row")
                # executeQuery of a subscribed query: the same result comes again.
                await web.send(requestId="1", resume={}, headers={})
                expect(await web.next(), pushed, "resume")
                # Query and mutation over the socket.
                await web.send(requestId="2", execute=request)
                expect((await web.next())["requestId"], "2", "execute")
                await web.send(requestId="3|0", execute={"operationName": "EditLot", "variables": {
                    "id": lot, "category": "Maps", "description": "by socket"}})
                answers = {}
                for _ in range(2):
                    answer = await web.next()
                    answers[answer["requestId"]] = answer
                expect(answers["3|0"]["data"]["lot_update"]["id"], lot, "mutation")
                expect(answers["1"]["data"]["lot"]["description"], "by socket", "push of the own mutation")
                # Each bad one gets an error under its id; no stream is closed.
                await web.send(requestId="4", subscribe={"operationName": "Nothing"})

                async def refusal(id, code):
                    answer = await web.next()
                    expect((answer["requestId"], answer["errors"][0]["extensions"]["code"]), (id, code), "error")
                    check(isinstance(answer["errors"][0]["path"], list), "path")

                await refusal("4", "NOT_FOUND")
                await web.send(requestId="5", execute={"operationName": "GetLot"})
                await refusal("5", "INVALID_ARGUMENT")
                await web.send(requestId="6", resume={})
                await refusal("6", "NOT_FOUND")
                # As the web SDK subscribes: one refusal answers both. Later it is judged again.
                await web.send(requestId="8", subscribe={"operationName": "GetLot"})
                await web.send(requestId="8", resume={})
                await refusal("8", "INVALID_ARGUMENT")
                await web.send(requestId="8", resume={})
                await refusal("8", "INVALID_ARGUMENT")
                await web.send(requestId="1", cancel={}, headers={})
                await web.send(requestId="1", cancel={})
                await client.describe(lot, "unseen", "Maps")
                await web.quiet(0.3)
                await web.send(requestId="7", subscribe=request)
                expect((await web.next())["data"]["lot"]["description"], "unseen", "after a cancel")
        # Flutter: a first frame without a kind.
        async with session.ws_connect(base + OLD_PATH) as socket:
            flutter = Stream(socket)
            await flutter.send(name=NAME, headers={"X-Firebase-Auth-Token": signed(secret, "ann", 3)})
            await flutter.send(requestId="p_1", subscribe={"operationName": "MyAccount"})
            expect((await flutter.next())["requestId"], "p_1", "signed in")
            await flutter.send(requestId="s_1", subscribe=request)
            expect((await flutter.next())["requestId"], "s_1", "public")
            # The token runs out: a new one comes in time, and nothing was said.
            await flutter.quiet(3.5)
            await flutter.send(requestId="auth_x1", headers={"X-Firebase-Auth-Token": signed(secret, "ann", 3)})
            expect((await flutter.next())["requestId"], "p_1", "subscription after a new token")
            # None comes: what needs it ends with an error, and the socket closes.
            last = await flutter.next(within=20)
            expect((last["requestId"], last["errors"][0]["extensions"]["code"]), ("p_1", "UNAUTHENTICATED"), "expiry")
            message = await asyncio.wait_for(socket.receive(), 10)
            expect((message.type, message.data), (aiohttp.WSMsgType.CLOSE, 4403), "close after expiry")
        # What needs no token goes on without one.
        async with session.ws_connect(base + NEW_PATH) as socket:
            public = Stream(socket)
            await public.send(requestId="1", name=NAME, subscribe=request,
                              headers={"X-Firebase-Auth-Token": signed(secret, "ann", 2)})
            expect((await public.next())["requestId"], "1", "public with a token")
            await public.quiet(2.5)
            await client.describe(lot, "after the token", "Maps")
            expect((await public.next())["data"]["lot"]["description"], "after the token", "public after expiry")
        # Every tick of a timer, though nothing changes.
        async with session.ws_connect(base + NEW_PATH) as socket:
            timed = Stream(socket)
            await timed.send(requestId="1", name=NAME, subscribe={"operationName": "ClosingSoon"})
            first = await timed.next()
            expect(await timed.next(within=15), first, "tick")
        # What is not here is refused at the handshake; what is no message ends the socket.
        try:
            await session.ws_connect(base + NEW_PATH.replace("services/auctions", "services/shops"))
            raise SystemExit("a wrong service was accepted")
        except aiohttp.WSServerHandshakeError as error:
            expect(error.status, 404, "handshake")
        async with session.ws_connect(base + NEW_PATH) as socket:
            await socket.send_str("nonsense")
            message = await asyncio.wait_for(socket.receive(), 10)
            expect((message.type, message.data), (aiohttp.WSMsgType.CLOSE, 1007), "no message")


class Calls:
    """Requests of a bidirectional call from a queue."""

    def __init__(self):
        self.queue = asyncio.Queue()

    def __aiter__(self):
        return self

    async def __anext__(self):
        item = await self.queue.get()
        if item is None:
            raise StopAsyncIteration
        return item


async def grpc_client(base, token, secret):
    import grpc
    messages, services = connector_stubs()
    from google.protobuf.json_format import MessageToDict
    address = base.split("://")[1]
    metadata = (("x-goog-request-params", "location=us-central1&frontend=data"),
                ("x-client-version", "android/17.3.0"), ("x-firebase-gmpid", "1:123:android:abc"))
    signed_in = metadata + (("x-firebase-auth-token", token),)
    options = [("grpc.keepalive_time_ms", 1_000), ("grpc.keepalive_timeout_ms", 10_000),
               ("grpc.http2.max_pings_without_data", 0)]

    def text(response):
        return MessageToDict(response.data)

    async with aiohttp.ClientSession() as session, grpc.aio.insecure_channel(address, options=options) as channel:
        rest = Rest(session, base)
        lot = await rest.lot("Toys")
        unary = services.ConnectorServiceStub(channel)

        def request(operation, **variables):
            call = messages.ExecuteQueryRequest(name=NAME, operation_name=operation)
            call.variables.update(variables)
            return call

        # Unary.
        answer = await unary.ExecuteQuery(request("GetLot", id=lot), metadata=metadata)
        expect(answer.data["lot"]["id"], lot, "query")
        (entity,) = answer.extensions.data_connect
        expect(([*entity.path], len(entity.entity_id)), (["lot"], 32), "entity")
        _, other = await rest.call("executeQuery", "GetLot", {"id": lot})
        expect(other["extensions"]["dataConnect"][0]["entityId"], entity.entity_id, "the same id by REST")
        expect(other["data"], text(answer), "the same data by REST")
        mutation = messages.ExecuteMutationRequest(name=NAME, operation_name="EditLot")
        mutation.variables.update({"id": lot, "category": "Toys", "description": "by gRPC"})
        answer = await unary.ExecuteMutation(mutation, metadata=metadata)
        expect(answer.data["lot_update"]["id"], lot, "mutation")
        answer = await unary.ExecuteQuery(request("GetLot", id=7), metadata=metadata)
        check(not answer.HasField("data") and answer.errors[0].extensions.code == 3, "bad variables: %r" % answer)
        for call, meta, status in (
                (request("MyAccount"), metadata, grpc.StatusCode.UNAUTHENTICATED),
                (request("GetLot", id=lot), metadata + (("x-firebase-auth-token", "forged"),),
                 grpc.StatusCode.UNAUTHENTICATED),
                (request("Nothing"), metadata, grpc.StatusCode.NOT_FOUND),
                (messages.ExecuteQueryRequest(name="x", operation_name="A"), metadata,
                 grpc.StatusCode.INVALID_ARGUMENT),
                (messages.ExecuteQueryRequest(name=NAME.replace("/auctions/", "/shops/"), operation_name="A"), metadata,
                 grpc.StatusCode.NOT_FOUND)):
            try:
                await unary.ExecuteQuery(call, metadata=meta)
                raise SystemExit("no status for %r" % call)
            except grpc.aio.AioRpcError as error:
                expect(error.code(), status, str(call))
                check(error.details(), "no details")
                # google.rpc.Status: the code, and the same message.
                status = error.trailing_metadata()["grpc-status-details-bin"]
                expect(status[:3], bytes([8, error.code().value[0], 18]), "code in the details")
                check(status.endswith(error.details().encode()), "message in the details: %r" % status)
        schemes = [metadata + (("authorization", scheme + " " + token),) for scheme in ("Bearer", "Firebase")]
        for meta in [signed_in] + schemes:
            answer = await unary.ExecuteQuery(request("MyAccount"), metadata=meta)
            check(answer.HasField("data"), "signed in")
        # Many calls at once on one connection.
        many = [unary.ExecuteQuery(request("GetLot", id=lot), metadata=metadata) for _ in range(300)]
        expect(len(await asyncio.gather(*many)), 300, "calls")
        # An unknown method.
        try:
            await channel.unary_unary("/google.firebase.dataconnect.v1.ConnectorService/Other")(b"")
            raise SystemExit("an unknown method was answered")
        except grpc.aio.AioRpcError as error:
            expect(error.code(), grpc.StatusCode.UNIMPLEMENTED, "unknown method")

        # The stream: Android's first message has an id and no kind.
        streams = services.ConnectorStreamServiceStub(channel)
        calls = Calls()
        call = streams.Connect(calls, metadata=signed_in)

        def send(request_id, kind=None, operation=None, headers=None, name="", **variables):
            message = messages.StreamRequest(request_id=request_id, name=name, headers=headers or {})
            if kind in ("subscribe", "execute"):
                body = getattr(message, kind)
                body.operation_name = operation
                body.variables.update(variables)
            elif kind:
                getattr(message, kind).SetInParent()
            calls.queue.put_nowait(message)

        async def receive(within=10):
            return await asyncio.wait_for(call.read(), within)

        send("init", name=NAME)
        send("8F2A|0", "subscribe", "GetLot", id=lot)
        first = await receive()
        expect((first.request_id, text(first)["lot"]["description"]), ("8F2A|0", "by gRPC"), "first result")
        expect(first.extensions.data_connect[0].entity_id, entity.entity_id, "entities in a push")
        await rest.describe(lot, "pushed", "Toys")
        pushed = await receive()
        expect((pushed.request_id, text(pushed)["lot"]["description"]), ("8F2A|0", "pushed"), "push")
        send("8F2A|0", "resume")
        expect(await receive(), pushed, "resume")
        send("2", "execute", "MyAccount")
        expect((await receive()).request_id, "2", "execute")
        send("3", "execute", "Nothing")
        expect((await receive()).errors[0].extensions.code, 5, "unknown operation")
        # Elapsed time is the subject: nothing is said for longer than either side's keep-alive, so both sides send
        # pings. The node ends a stream that does not answer its own within that time.
        await asyncio.sleep(3)
        send("8F2A|0", "cancel")
        send("auth1", headers={"x-firebase-auth-token": signed(secret, "ann", 60)})
        send("4", "subscribe", "GetLot", id=lot)
        expect((await receive()).request_id, "4", "after a new token")
        # The client's half-close ends a stream that has nothing to say any more.
        send("4", "cancel")
        calls.queue.put_nowait(None)
        expect(await receive(), grpc.aio.EOF, "end")
        expect(await call.code(), grpc.StatusCode.OK, "status")

        # A token that runs out ends the stream, as Android wants it; so does one that is refused.
        for token_now, within in ((signed(secret, "ann", 2), 10), ("forged", 5)):
            for _ in range(5):
                calls = Calls()
                call = streams.Connect(calls, metadata=metadata + (("x-firebase-auth-token", token_now),))
                send("init", name=NAME)
                send("1", "subscribe", "MyAccount")
                try:
                    while await receive(within) is not grpc.aio.EOF:
                        pass
                except grpc.aio.AioRpcError:
                    pass
                # grpcio's own word for a message that it was sending as the call ended: the status is lost.
                if await call.details() != "Internal error from Core":
                    break
            expect(await call.code(), grpc.StatusCode.UNAUTHENTICATED, "expiry, with %s" % await call.details())

        # A client that does not read delays no other, and then gets the newest.
        narrow = grpc.aio.insecure_channel(
            address, options=[("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536)])
        calls = Calls()
        call = services.ConnectorStreamServiceStub(narrow).Connect(calls, metadata=metadata)
        send("init", name=NAME)
        send("slow", "subscribe", "ListLots", category="Toys")
        await receive()
        other_calls, calls = calls, Calls()
        other, call = call, streams.Connect(calls, metadata=metadata)
        send("init", name=NAME)
        send("fast", "subscribe", "GetLot", id=lot)
        await receive()
        big = "x" * 30_000
        for number in range(40):
            await rest.describe(lot, big + str(number), "Toys")
            while text(await receive())["lot"]["description"] != big + str(number):
                pass
        seen = []
        call = other
        while not seen or not seen[-1].endswith("x39"):
            rows = text(await receive())["lots"]
            seen += [row["description"] for row in rows if row["id"] == lot]
        check(len(seen) < 40, "a slow stream got %d results" % len(seen))
        print("slow stream: %d of 40 results" % len(seen))
        call.cancel()
        await narrow.close()


async def hostile(base, token, secret):
    """A client that breaks the rules of HTTP/2 harms no other."""
    import grpc
    messages, services = connector_stubs()
    address = base.split("://")[1]
    host, port = address.split(":")
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    settings = b"\0\0\0\4\0\0\0\0\0"

    async with aiohttp.ClientSession() as session, grpc.aio.insecure_channel(address) as channel:
        lot = await Rest(session, base).lot()
        calls = Calls()
        call = services.ConnectorStreamServiceStub(channel).Connect(calls)
        request = messages.StreamRequest(request_id="1", name=NAME)
        request.subscribe.operation_name = "GetLot"
        request.subscribe.variables.update({"id": lot})
        calls.queue.put_nowait(request)
        await asyncio.wait_for(call.read(), 10)
        for bad in (b"", b"\xff" * 4096, settings + b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0", settings + os.urandom(8192),
                    settings + b"\0\0\1\1\5\0\0\0\1\xff", settings + (b"\0\0\x08\6\0\0\0\0\0" + b"p" * 8) * 5000,
                    settings + b"\x7f\xff\xff\0\0\0\0\0\1"):
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(preface + bad)
                await writer.drain()
                await asyncio.wait_for(reader.read(64), 2)
            except (ConnectionError, asyncio.TimeoutError):
                pass
            writer.close()
        await wrong_frames(host, int(port))
        # Garbage inside of a call, and a message that is too large, end that call alone.
        raw = channel.unary_unary("/google.firebase.dataconnect.v1.ConnectorService/ExecuteQuery")
        for body, code in ((b"\xff\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
                           (b"\0" * (2 << 20), grpc.StatusCode.RESOURCE_EXHAUSTED)):
            try:
                await raw(body)
                raise SystemExit("garbage was answered")
            except grpc.aio.AioRpcError as error:
                expect(error.code(), code, "garbage")
        stray = channel.stream_stream("/%s/Connect" % STREAM)(iter([b"\xff\xff"]))
        try:
            await asyncio.wait_for(stray.read(), 10)
        except grpc.aio.AioRpcError:
            pass
        expect(await stray.code(), grpc.StatusCode.INVALID_ARGUMENT, "garbage on a stream")
        await Rest(session, base).describe(lot, "still here")
        while (await asyncio.wait_for(call.read(), 10)).data["lot"]["description"] != "still here":
            pass


async def wrong_frames(host, port):
    """A wrong frame of a stream ends that stream alone, one of the connection ends that, and both get an error."""
    reader, writer = await asyncio.open_connection(host, port)

    def send(kind, flags, stream, payload=b""):
        writer.write(len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload)

    async def receive(*wanted):
        while True:
            head = await asyncio.wait_for(reader.readexactly(9), 10)
            kind, stream = head[3], int.from_bytes(head[5:], "big")
            payload = await asyncio.wait_for(reader.readexactly(int.from_bytes(head[:3], "big")), 10)
            if (kind, stream) in wanted:
                return kind, payload

    def call(stream):
        path = b"/%s/Connect" % STREAM.encode()
        # POST, http, the path, content-type (RFC 7541 appendix A).
        send(1, 4, stream, b"\x83\x86\x04" + bytes([len(path)]) + path + b"\x0f\x10\x10application/grpc")

    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    send(4, 0, 0)
    call(1)
    await receive((1, 1))
    call(3)
    await receive((1, 3))
    send(8, 0, 1, bytes(4))
    expect(await receive((3, 1)), (3, (1).to_bytes(4, "big")), "a stream's window opened by nothing")
    # The other goes on: its garbage is answered by a status.
    send(0, 1, 3, b"\0\0\0\0\2\xff\xff")
    expect((await receive((1, 3), (3, 3)))[0], 1, "the other stream")
    send(0, 0, 0, b"x")
    writer.write(bytes(300_000))
    kind, payload = await receive((7, 0))
    expect(payload[4:8], (1).to_bytes(4, "big"), "DATA on the connection")
    # Its end is no reset, though much was not looked at.
    while await asyncio.wait_for(reader.read(4096), 10):
        pass
    writer.close()


async def limits(base, token, secret):
    """A node with three operations for each session and 1.5 s for the first message."""
    import grpc
    messages, services = connector_stubs()
    request = {"operationName": "ListLots", "variables": {"category": "Books"}}
    async with aiohttp.ClientSession() as session, grpc.aio.insecure_channel(base.split("://")[1]) as channel:
        async with session.ws_connect(base + NEW_PATH) as socket:
            web = Stream(socket)
            await web.send(name=NAME)
            for id in "1234":
                await web.send(requestId=id, subscribe=request)
                answer = await web.next()
                code = answer["errors"][0]["extensions"]["code"] if "errors" in answer else None
                expect((answer["requestId"], code), (id, "RESOURCE_EXHAUSTED" if id == "4" else None), "operations")
            await web.send(requestId="1", cancel={})
            await web.send(requestId="4", subscribe=request)
            expect("errors" in await web.next(), False, "room after a cancel")
            # Variables that are too deep, a message that is too large.
            deep = {"category": json.loads("[" * 80 + "]" * 80)}
            await web.send(requestId="5", execute={"operationName": "ListLots", "variables": deep})
            expect((await web.next())["requestId"], "5", "depth")
            await socket.send_str("{" + " " * 400_000 + "}")
            message = await asyncio.wait_for(socket.receive(), 10)
            expect((message.type, message.data), (aiohttp.WSMsgType.CLOSE, 1009), "a large message")
        # The server waits for no client.
        async with session.ws_connect(base + OLD_PATH) as socket:
            message = await asyncio.wait_for(socket.receive(), 10)
            expect((message.type, message.data), (aiohttp.WSMsgType.CLOSE, 1008), "silence")
        silent = services.ConnectorStreamServiceStub(channel).Connect(Calls())
        try:
            await asyncio.wait_for(silent.read(), 10)
        except grpc.aio.AioRpcError:
            pass
        expect(await silent.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, "silence")
        # More calls than a connection may have wait for their turn.
        unary = services.ConnectorServiceStub(channel)
        body = messages.ExecuteQueryRequest(name=NAME, operation_name="ListLots")
        body.variables.update({"category": "Books"})
        expect(len(await asyncio.gather(*[unary.ExecuteQuery(body) for _ in range(500)])), 500, "calls")


async def drain(base, token, secret):
    """The node stops: sockets get 1001, gRPC a GOAWAY and UNAVAILABLE."""
    import grpc
    messages, services = connector_stubs()
    async with aiohttp.ClientSession() as session, grpc.aio.insecure_channel(base.split("://")[1]) as channel:
        lot = await Rest(session, base).lot()
        async with session.ws_connect(base + NEW_PATH) as socket:
            web = Stream(socket)
            await web.send(requestId="1", name=NAME, subscribe={
                "operationName": "GetLot", "variables": {"id": lot}})
            await web.next()
            calls = Calls()
            call = services.ConnectorStreamServiceStub(channel).Connect(calls)
            request = messages.StreamRequest(request_id="1", name=NAME)
            request.subscribe.operation_name = "GetLot"
            request.subscribe.variables.update({"id": lot})
            calls.queue.put_nowait(request)
            await asyncio.wait_for(call.read(), 10)
            os.kill(int(sys.argv[5]), signal.SIGTERM)
            message = await asyncio.wait_for(socket.receive(), 20)
            expect((message.type, message.data), (aiohttp.WSMsgType.CLOSE, 1001), "WebSocket")
            try:
                expect(await asyncio.wait_for(call.read(), 20), grpc.aio.EOF, "stream")
            except grpc.aio.AioRpcError:
                pass
            expect(await call.code(), grpc.StatusCode.UNAVAILABLE, "stream")


TESTS = {"rest": rest, "stream": stream, "grpc": grpc_client, "hostile": hostile, "limits": limits,
         "drain": drain}

if __name__ == "__main__":
    asyncio.run(TESTS[sys.argv[1]](*sys.argv[2:5]))
    print(sys.argv[1], "passed")
