"""Clients of a shared service, which say one thing or one after the other."""

import threading
from itertools import count

import httpx

from ...effort import PATIENCE_S
from .conftest import Running, routed

FAB = "I want to add a FAB button"


def client_of(service: Running, token: str = "") -> httpx.Client:
    """A client of the listener of a shared service."""
    where = next(place for place in service.service.places if place.startswith("http"))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=where, headers=headers, timeout=PATIENCE_S)


def expanded(client: httpx.Client, message: str, conversation: str = "c") -> str:
    """How a message is read in a conversation."""
    return str(routed(client, message, conversation=conversation)["expanded"])


def heard(client: httpx.Client, conversation: str = "c") -> list[str]:
    """What was said in a conversation."""
    entries = client.get("/context", params={"conversation": conversation}).json()["entries"]
    return [entry["user_message"] for entry in entries]


class Talk:
    """Somebody who says one thing after the other, and what of it was acknowledged."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.client = client
        self.name = name
        self.said: list[str] = []
        self.acknowledged: list[str] = []
        self.faults: list[str] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def goes_on(self, since: int) -> bool:
        """Whether more was acknowledged than so many messages, or nothing will be."""
        return bool(self.faults) or len(self.acknowledged) > since + 5

    def end(self) -> None:
        self._ends.set()
        self._thread.join()

    def _work(self) -> None:
        for number in count():
            if self._ends.is_set() or self.faults:
                return
            text = f"{FAB} number {number}"
            asked = {"message": text, "conversation": self.name}
            try:
                reply = self.client.post("/route", json=asked)
            except httpx.HTTPError as error:
                self.faults.append(repr(error))
                return
            if reply.status_code != 200:
                self.faults.append(reply.text)
            self.said.append(text)
            if "warning: " not in reply.text:
                self.acknowledged.append(text)
