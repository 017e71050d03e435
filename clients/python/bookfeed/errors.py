"""Errors. An error of the server has a class named after its code (docs/errors.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


KEYS = re.compile(r"(bf_(?:live|test)_)\w*(\w{4})")


def without_keys(text: str) -> str:
    """A text that is safe to show: only the last four characters of a key remain."""
    return KEYS.sub(r"\1…\2", text)


class BookfeedError(Exception):
    """Any error of this package."""

    is_retryable = False
    """True if the same request may succeed a little later."""
    retry_after: float | None = None
    """Seconds to wait before the next attempt, as requested by the server."""


class MissingExtra(BookfeedError):
    """A package that only this method needs is not installed; the message names the extra."""


class BookBroken(BookfeedError):
    """A row of `changes` does not fit the book that it was applied to."""


class Disconnected(BookfeedError):
    """The server could not be reached, or its response was incomplete or damaged."""

    is_retryable = True


class ApiError(BookfeedError):
    """The server refused the request, and says why.

    Branch on the class, or on `code` if it has no class: codes may be added. `detail` is for
    people. `param` names the refused parameter, `required_tier` the lowest tier that includes the
    request; `problem` is the whole document. Quote `request_id` when you report a problem.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None) -> None:
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.code = str(problem.get("code") or f"http_{status}")
        self.detail = str(problem.get("detail") or f"The server answered {status}.")
        self.request_id: str | None = problem.get("requestId")
        self.param: str | None = problem.get("param")
        self.required_tier: str | None = problem.get("requiredTier")
        # Without a code it comes from a proxy, for example while the server behind it restarts.
        self.is_retryable = type(self).is_retryable or ("code" not in problem and status >= 502)
        request = f" ({self.request_id})" if self.request_id else ""
        super().__init__(f"{self.code}: {self.detail}{request}")


class Passing(ApiError):
    """A temporary error, raised after all attempts have failed."""

    is_retryable = True


# fmt: off
class InvalidParameter(ApiError): """A parameter is unknown, missing or wrong: see `param`."""
class CursorInvalid(ApiError): """The cursor was not issued by this server."""
class CursorMismatch(ApiError): """The cursor belongs to another query; only `limit` may change."""
class Unauthenticated(ApiError): """The key is missing or invalid."""
class TierCoin(ApiError): """The tier does not include this coin: see `required_tier`."""
class TierRoute(ApiError): """The tier does not include this route: see `required_tier`."""
class UnknownCoin(ApiError): """The server does not have this coin."""
class UnknownMarket(ApiError): """The coin has no market with this name."""
class NoSnapshot(ApiError): """No book was recorded at or before this time."""
class Stale(ApiError): """The newest book at or before this time is older than `max_age_ms`."""
class Sanctioned(ApiError): """The account's address is on a sanctions list."""
class Damaged(ApiError): """The stored data is damaged, and not served until it is restored."""
class RateLimited(Passing): """The rate limit is reached."""
class TooManyStreams(Passing): """The tier's limit of concurrent exports and streams is reached."""
class Internal(Passing): """An internal error of the server."""
class StorageUnavailable(Passing): """The server cannot write to its disk."""
class Unavailable(Passing): """The server is starting, stopping, or overloaded."""
# fmt: on


def _code_of(kind: type[ApiError]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


BY_CODE = {
    _code_of(kind): kind
    for kind in (*ApiError.__subclasses__(), *Passing.__subclasses__())
    if kind is not Passing
}


def _kind_of(problem: Mapping[str, Any]) -> type[ApiError]:
    return BY_CODE.get(str(problem.get("code")), ApiError)


def error_of(status: int, retry_after: str | None, body: bytes) -> ApiError:
    """The error in a response with a status of 400 or more."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    after = retry_after or ""
    return _kind_of(problem)(status, problem, float(after) if after.isdigit() else None)


def refusal_of(message: Mapping[str, Any]) -> ApiError:
    """The error in a message of a stream."""
    kind = _kind_of(message)
    return kind(503 if issubclass(kind, Passing) else 400, message, None)


def final_error_of(status: int, code: str, detail: str) -> ApiError:
    """An error after which a stream is not opened again."""
    problem = {"code": code, "detail": detail}
    error = _kind_of(problem)(status, problem, None)
    error.is_retryable = False
    return error
