"""Old lines of the context are gone after two hours of silence."""

from datetime import timedelta

from kds.brain.clock import utc_now
from kds.brain.context.journal import MAX_AGE, Contexts
from kds.brain.timeouts import Deadline
from kds.brain.turn import ContextEntry
from kds.brain.workspace import Workspace
from kds.service.server import expire_later

from ..conftest import said_in


def test_lines_leave_the_disk_when_they_expire_with_no_use_at_all(place: Workspace) -> None:
    almost = utc_now() - MAX_AGE + timedelta(seconds=2)
    soon = ContextEntry(almost, "I want to add a FAB button", "PLAN")
    Contexts(place).journal().log(soon)
    assert said_in(place.root) == [soon.user_message]
    expire_later(place, age_s=2)
    assert Deadline(300.0).until(lambda: said_in(place.root) == [], pause_s=0.1)
