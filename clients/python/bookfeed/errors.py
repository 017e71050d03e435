"""Failures. Those that the server reports have a class by their code (docs/errors.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


KEYS = re.compile(r"(bf_(?:live|test)_)\w*(\w{4})")


def without_keys(text: str) -> str:
    """A text that is shown, with no more of a key than its last four characters."""
    return KEYS.sub(r"\1…\2", text)


class BookfeedError(Exception):
    """Whatever goes wrong in this package."""

    is_retryable = False
    """Whether the same request may succeed a little later."""
    retry_after: float | None = None
    """Seconds that the server asks to wait before."""


class MissingExtra(BookfeedError):
    """A package that only `to_df` needs is not installed; the message names the extra."""


class Disconnected(BookfeedError):
    """The server could not be reached, or what it sent broke off or is damaged."""

    is_retryable = True


class ApiError(BookfeedError):
    """The server refused, and says why.

    Branch on the class, or on `code` where it has none of its own: more may be added. `detail` is
    for people. `param` names the parameter that was refused, `required_tier` the lowest tier that
    includes what was asked for; `problem` is all of the document. Quote `request_id` when you
    report something.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None) -> None:
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.code = str(problem.get("code") or f"http_{status}")
        self.detail = str(problem.get("detail") or f"The server answered {status}.")
        self.request_id: str | None = problem.get("requestId")
        self.param: str | None = problem.get("param")
        self.required_tier: str | None = problem.get("requiredTier")
        # Without a code it is from a proxy, as while a server behind it starts again.
        self.is_retryable = type(self).is_retryable or ("code" not in problem and status >= 502)
        request = f" ({self.request_id})" if self.request_id else ""
        super().__init__(f"{self.code}: {self.detail}{request}")


class Passing(ApiError):
    """What may be over a little later; the client has tried as often as it may."""

    is_retryable = True


# fmt: off
class InvalidParameter(ApiError): """A parameter is unknown, missing or wrong: see `param`."""
class CursorInvalid(ApiError): """The cursor was not issued by this server."""
class CursorMismatch(ApiError): """The cursor is of another query; only `limit` may change."""
class Unauthenticated(ApiError): """No key, or none that is valid."""
class TierCoin(ApiError): """The tier does not include this coin: see `required_tier`."""
class TierRoute(ApiError): """The tier does not include this route: see `required_tier`."""
class UnknownCoin(ApiError): """Not one of the coins that are served."""
class UnknownMarket(ApiError): """Nothing of the coin is recorded under this name."""
class NoSnapshot(ApiError): """No book was recorded by the moment."""
class Stale(ApiError): """The newest book by the moment is older than `max_age_ms`."""
class Sanctioned(ApiError): """The address of the account is on a sanctions list."""
class Damaged(ApiError): """What is stored is damaged, and refused until it is restored."""
class RateLimited(Passing): """The allowance of requests a minute is used up."""
class TooManyStreams(Passing): """As many exports and live streams run as the tier includes."""
class Internal(Passing): """A fault of the server."""
class StorageUnavailable(Passing): """The server cannot write to its disk."""
class Unavailable(Passing): """The server is starting, stopping, or at its limit of work."""
# fmt: on


def _code_of(kind: type[ApiError]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


BY_CODE = {
    _code_of(kind): kind
    for kind in (*ApiError.__subclasses__(), *Passing.__subclasses__())
    if kind is not Passing
}


def error_of(status: int, retry_after: str | None, body: bytes) -> ApiError:
    """What a response of 400 or more says."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    after = retry_after or ""
    kind = BY_CODE.get(str(problem.get("code")), ApiError)
    return kind(status, problem, float(after) if after.isdigit() else None)
