"""A warm Python: a process that has imported the libraries; each script that it is asked to run is a fork of it.

The import of numpy, pandas, numba and others takes more than a second, most of what a page of the documentation or a
command on it needs. Here it is done once for all of them. Nothing of our own packages is imported before a script
begins: each has to import what it uses. Warnings are errors in all of them.

``python tests/warm.py serve SOCKET`` is that process, ``python tests/warm.py SOCKET SCRIPT ...`` runs a script: in the
folder and the environment of this command, with its standard streams, to the same exit status.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    *("typer._adapters", "rich.console", "pydantic", "yaml", "jinja2"),
    *("numpy.random", "scipy.linalg", "numba", "numba.core.ccallback", "simpy"),
    *("pandas", "pyarrow.parquet", "pyarrow.csv", "matplotlib.pyplot", "matplotlib.backends.backend_agg"),
)
"""What most scripts import, be it at once or when they come to need it."""


@contextmanager
def served() -> Iterator[tuple[str, ...]]:
    """Yield the command that runs a script, while there is a process to fork."""
    with tempfile.TemporaryDirectory(prefix="warm") as folder:
        address = str(Path(folder) / "socket")
        command = [sys.executable, "-P", "-W", "error", __file__, "serve", address]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # this checkout comes first
        surroundings = {**os.environ, "PYTHONPATH": path}
        server = subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n", "the libraries cannot be imported"
            yield sys.executable, "-S", "-E", __file__, address
        finally:
            with suppress(ProcessLookupError):  # it, and the scripts that run still
                os.killpg(server.pid, signal.SIGKILL)
            server.communicate()


def ask(address: str, words: list[str]) -> int:
    """Run a script there, and return its exit status."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [b"."], [0, 1, 2])
        request = json.dumps({"argv": words, "folder": str(Path.cwd()), "environment": dict(os.environ)})
        server.sendall(request.encode())
        server.shutdown(socket.SHUT_WR)
        return int(server.recv(8) or b"1")


def serve(address: str) -> str:
    """Import the libraries and wait for requests; return, in the fork that is to run it, the path of a script."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # of what is there for all, no fork looks for garbage
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork ended
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        os.write(1, b"ready\n")
        while True:
            client, _ = server.accept()
            if os.fork() == 0:
                break
            client.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client:
        streams = socket.recv_fds(client, 1, 3)[1]
        with client.makefile("rb") as sent:
            request = json.load(sent)
        script = os.fork()
        if script != 0:  # this one only waits, to say how it ended
            ended = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
            client.sendall(str(ended if ended >= 0 else 128 - ended).encode())
            os._exit(0)
    return begun(request, streams)


def begun(request: dict[str, Any], streams: list[int]) -> str:
    """Make this process what it would be had it been started as asked; return the path of its script."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # The old ones know other streams.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = request["argv"]
    return sys.argv[0]


if __name__ == "__main__":
    if sys.argv[1] != "serve":
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    runpy.run_path(serve(sys.argv[2]), run_name="__main__")
