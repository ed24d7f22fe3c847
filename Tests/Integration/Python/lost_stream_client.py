"""A stream of gRPC that has all that its user may: a subscription ("live"), and after SIGUSR1 a mutation in flight
beside which another one is refused ("full"). Then it waits to be killed, so that its socket closes without a word.

    lost_stream_client.py HOST:PORT TOKEN LOT
"""

import asyncio
import os
import signal
import sys

import grpc

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import connector_stubs  # noqa: E402

NAME = "projects/p/locations/us-central1/services/auctions/connectors/auctions"


async def main(address, token, lot):
    messages, services = connector_stubs()
    signalled = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, signalled.set)
    async with grpc.aio.insecure_channel(address) as channel:
        call = services.ConnectorStreamServiceStub(channel).Connect(metadata=(("x-firebase-auth-token", token),))

        async def send(identifier, kind, operation, **variables):
            message = messages.StreamRequest(request_id=identifier, name=NAME)
            getattr(message, kind).operation_name = operation
            getattr(message, kind).variables.update(variables)
            await call.write(message)

        await send("1", "subscribe", "GetLot", id=lot)
        answer = await asyncio.wait_for(call.read(), 20)
        assert answer.request_id == "1" and answer.data["lot"]["id"] == lot, answer
        print("live", flush=True)
        await signalled.wait()
        for identifier in "23":
            await send(identifier, "execute", "EditLot", id=lot, category="Books", description="lost")
        answer = await asyncio.wait_for(call.read(), 20)
        assert answer.request_id == "3" and "too many requests in flight" in answer.errors[0].message, answer
        print("full", flush=True)
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
