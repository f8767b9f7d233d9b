"""Runs `kds` and Python code in processes that are forked from one with everything loaded.

A process of its own costs two seconds of imports; a fork of one that has them, some
milliseconds. Each run is a real process all the same, with arguments, variables, folder and
streams of its own, and ends with its exit code.

    python tests/preloaded.py FOLDER

listens on FOLDER/socket until its standard input ends. What it is asked to run comes from the
small programs that `launchers` writes: `kds ...` and `python-block CODE ...`. One serves a whole
run of tests, with all its processes.
"""

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

START_S: Final = 300
"""Seconds after which the server has failed to start."""

_LAUNCHER: Final = """\
#!{python} -IS
import _socket, marshal, os, sys

server = _socket.socket(_socket.AF_UNIX)
server.connect({path!r})
asked = {{
    "run": {run!r}, "arguments": sys.argv[1:], "folder": os.getcwd(), "mask": os.umask(0),
    "environ": dict(os.environ),
}}
content = marshal.dumps(asked)
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
server.sendmsg([len(content).to_bytes(8, "big")], [rights])
server.sendall(content)
code = server.recv(1)
sys.exit(code[0] if code else 70)
"""
"""`json` and `socket` would cost more than the rest."""


@contextmanager
def launchers() -> Iterator[Path]:
    """A folder with `kds` and `python-block`, as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="kds-") as name:
        folder = Path(name)
        for run in ("kds", "python-block"):
            text = _LAUNCHER.format(python=sys.executable, path=str(folder / "socket"), run=run)
            (folder / run).write_text(text)
            (folder / run).chmod(0o755)
        command = [sys.executable, __file__, name]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            ready, _, _ = select.select([server.stdout], [], [], START_S)
            assert ready
            assert server.stdout.readline() == b"ready\n"
            yield folder
            server.stdin.close()


def serve(folder: Path) -> None:
    """Fork a process for each connection until standard input ends; the first loads everything."""
    loaded = False
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in (readable := select.select([sys.stdin, listener], [], [])[0]):
            assert readable == [listener]
            connection, _ = listener.accept()
            loaded = loaded or _preload(folder)
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _preload(folder: Path) -> bool:
    import langchain_openai  # noqa: F401

    import kds
    from kds.brain.clock import utc_now
    from kds.service import lifecycle

    for module in pkgutil.walk_packages(kds.__path__, "kds."):
        importlib.import_module(module.name)
    lifecycle.COMMAND = (str(folder / "kds"),)  # a service is a fork, too
    with tempfile.TemporaryDirectory() as name:
        rehearsal = kds.Router.open(name).rehearse(utc_now)
        for message in ("I want to add a FAB button", "Make it purple"):
            rehearsal.route(message)
    gc.collect()
    gc.freeze()  # else the first collection in a fork copies every page
    return True


def _answer(connection: socket.socket) -> NoReturn:
    """Run what is asked for in a fork of its own, and send its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    content = b""
    while len(content) < int.from_bytes(size, "big"):
        content += connection.recv(1 << 20)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _run(marshal.loads(content), streams)
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _run(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.environ.clear()
    os.environ.update(asked["environ"])
    said = os.environ.get("PYTHONIOENCODING", "utf-8").split(":")
    form: dict[str, Any] = {"encoding": said[0], "errors": said[1] if said[1:] else "strict"}
    sys.stdin, sys.stdout = open(0, **form), open(1, "w", **form)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=said[0], errors="backslashreplace")  # noqa: SIM115
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    more = os.environ.get("PYTHONPATH", "")
    sys.path[:0] = [str(Path(entry).absolute()) for entry in more.split(os.pathsep) if entry]
    code = 0
    try:
        if asked["run"] == "kds":
            from kds.cli import main

            sys.argv = ["kds", *asked["arguments"]]
            main()
        else:
            source, *words = asked["arguments"]
            sys.argv, sys.path = ["-c", *words], ["", *sys.path]
            exec(compile(source, "<block>", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # noqa: BLE001  # as at the top of any program
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]  # there is one
        code = 1
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End as the interpreter does, but without taking everything down that was loaded."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads, as at every exit
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
