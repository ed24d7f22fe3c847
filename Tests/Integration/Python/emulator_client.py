"""`EmulatorService`, which editors ask of `freshet dev`, by grpcio.

    emulator_client.py HOST:PORT PROCESS
"""

import os
import signal
import sys

import grpc

# The programs beside this one, without leaving compiled copies there.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connector_stubs import stubs  # noqa: E402

messages, services = stubs("emulator_service")
with grpc.insecure_channel(sys.argv[1]) as channel:
    service = services.EmulatorServiceStub(channel)
    info = service.GetEmulatorInfo(messages.GetEmulatorInfoRequest(), timeout=20)
    assert info.version and len(info.services) == 1, info
    assert info.services[0].service_id == "auctions" and "postgres" in info.services[0].connection_string, info
    issues = service.StreamEmulatorIssues(messages.StreamEmulatorIssuesRequest(service_id="auctions"))
    assert list(next(issues).issues) == []
    # It stays open until the node leaves.
    os.kill(int(sys.argv[2]), signal.SIGINT)
    try:
        raise SystemExit("there is more: %r" % next(issues))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
print("passed", flush=True)
