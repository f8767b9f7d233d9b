"""Errors of the service, each with its HTTP status."""

import traceback
from typing import ClassVar

from kds.brain.errors import KdsError


class ServiceError(KdsError):
    """The service cannot do what it was asked."""

    status: ClassVar[int] = 400


class AlreadyServedError(ServiceError):
    """Another process is this user's service: there is nothing to start."""


class UnauthorizedError(ServiceError):
    """A request without a valid token."""

    status = 401


class ForbiddenError(ServiceError):
    """A request from elsewhere, or of somebody who may not."""

    status = 403


class NotServedError(ServiceError):
    """There is nothing of that name here."""

    status = 404


class ConflictError(ServiceError):
    """The request contradicts the current state: an id in use, a memory that is off."""

    status = 409


class TooLargeError(ServiceError):
    """More than the service takes in one request."""

    status = 413


class BusyError(ServiceError):
    """The queue is full, or the service is stopping: ask again."""

    status = 503


class ReplacedError(BusyError):
    """The installation was replaced: what the service would still read is of another version."""

    def __init__(self) -> None:
        super().__init__(
            "this service was started from an installation that was replaced",
            where="installation",
            hint="ask again: the next command starts the new one",
        )


def describe_fault(error: BaseException) -> str:
    """The kind of a fault and where it arose, without its text, which may quote a message.

    >>> describe_fault(ValueError("what the user said"))
    'ValueError'
    """
    frames = traceback.extract_tb(error.__traceback__)
    at = [f" at {one.filename}:{one.lineno} in {one.name}" for one in frames[-1:]]
    return "".join([type(error).__name__, *at])
