"""Messages and stubs of gRPC services, made from the proto files beside this one."""

import importlib
import os
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc


def connector_stubs():
    return stubs("connector_service")


def stubs(name):
    """The modules of the messages and of the services; what `protoc` writes for them is gone again afterwards."""
    here = os.path.dirname(os.path.abspath(__file__))
    bundled = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
    with tempfile.TemporaryDirectory(prefix="freshet-proto-") as folder:
        status = protoc.main([
            "protoc", "-I" + here, "-I" + bundled, "--python_out=" + folder, "--grpc_python_out=" + folder,
            os.path.join(here, name + ".proto")])
        if status != 0:
            raise SystemExit("protoc ended with %d" % status)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module(name + "_pb2"), importlib.import_module(name + "_pb2_grpc")
        finally:
            sys.path.remove(folder)
