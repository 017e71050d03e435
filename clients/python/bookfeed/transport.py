"""Requests over HTTP/1.1 with the standard library: connections, retries, gzip."""

from __future__ import annotations

import gzip
import logging
import os
import random
import re
import ssl
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import ApiError, Disconnected, error_of, without_keys

log = logging.getLogger("bookfeed")
"""Requests are logged at DEBUG; failed attempts and reopened connections at WARNING."""
log.addHandler(logging.NullHandler())
T = TypeVar("T")
Fault = Union[str, Callable[[], Union[str, None]], None]

BACKOFF_SECONDS = 0.5
BACKOFF_SECONDS_MAX = 30.0
"""Backoff grows between these bounds if the server does not say how long to wait."""
CONNECTIONS_MAX = 8
"""Number of idle connections that are kept."""
KEY = re.compile(r"[!-~]+")
"""Characters that a header can hold unchanged."""
WHOLE = re.compile(r"-?[0-9]{1,16}")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def keep(query: Mapping[str, object]) -> dict[str, object]:
    """Makes parameters reusable: an iterator yields its values only once."""
    return {
        name: list(value) if isinstance(value, Iterator) else value
        for name, value in query.items()
    }


@dataclass(frozen=True)
class Request:
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", keep(self.query))


@contextmanager
def as_disconnected(connection: HTTPConnection) -> Iterator[None]:
    """Closes the connection after any failure; raises network errors as `Disconnected`."""
    try:
        yield
    except BaseException as error:
        connection.close()
        if isinstance(error, (OSError, HTTPException, zlib.error, EOFError)):
            raise Disconnected(f"{type(error).__name__}: {error}") from error
        raise


def path_of(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def read_key(given: str | None) -> str:
    """The given key, or that of `BOOKFEED_KEY`, or `sample`, without white space around it.

    Raises `ValueError`, which does not show the key.
    """
    key = (given or os.environ.get("BOOKFEED_KEY") or "").strip() or "sample"
    if KEY.fullmatch(key) is None:
        raise ValueError(f"The key that ends in {key[-4:]!r} contains an invalid character.")
    return key


def to_text(value: object) -> str:
    """A parameter in the form of the API. A date, or a datetime without a time zone, is in UTC."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return (value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value).isoformat()
    if isinstance(value, date) or (isinstance(value, str) and DAY.fullmatch(value)):
        return f"{value}T00:00:00Z"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (float, Decimal)):
        # The API does not accept exponents.
        return format(Decimal(str(value)), "f")
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return ",".join(map(to_text, value))
    return str(value)


def to_json(value: object) -> object:
    """The same for a body, where booleans and integers, also those given as text, are JSON values."""
    if isinstance(value, bool):
        return value
    text = to_text(value)
    return int(text) if WHOLE.fullmatch(text) else text


def name_of(name: str) -> str:
    """The parameter name of an argument: `from_` is `from`, `max_age_ms` is `maxAgeMs`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


class Transport:
    """Sends requests with retries and backoff. Thread-safe."""

    def __init__(
        self,
        server: str,
        key: str,
        timeout: float,
        attempts: int,
        wait_max: float,
        sleep: Callable[[float], None],
        fault: Fault,
    ) -> None:
        url = urlsplit(server)
        if url.scheme not in ("http", "https") or not url.hostname:
            shown = without_keys(server)
            raise ValueError(f"{shown!r} is not a URL such as https://books.example.com.")
        if attempts < 1:
            raise ValueError("attempts must be at least 1.")
        self._is_secure = url.scheme == "https"
        self._tls = ssl.create_default_context() if self._is_secure else None
        self._host, self._port, self._base = url.hostname, url.port, url.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"}
        self._timeout, self._wait_max = timeout, wait_max
        self._fault = fault
        self.attempts, self.sleep = attempts, sleep
        self._idle: deque[HTTPConnection] = deque(maxlen=CONNECTIONS_MAX)

    def close(self) -> None:
        for _ in range(len(self._idle)):
            with suppress(IndexError):
                self._idle.pop().close()

    def wait_before(self, error: ApiError | Disconnected, failures: int) -> float:
        """Seconds to wait before the next attempt; raises if there should be none.

        `failures` counts the failures so far, including this one.
        """
        backoff = min(BACKOFF_SECONDS * 2 ** (failures - 1), BACKOFF_SECONDS_MAX)
        asked = error.retry_after
        wait = random.uniform(backoff / 2, backoff) if asked is None else asked
        if not error.is_retryable or failures >= self.attempts or wait > self._wait_max:
            raise error
        return wait

    def retrying(self, call: Callable[[], T]) -> T:
        failures = 0
        while True:
            try:
                return call()
            except (ApiError, Disconnected) as error:
                failures += 1
                wait = self.wait_before(error, failures)
                log.warning("Attempt %d failed (%s). Next in %.1f s.", failures, error, wait)
            self.sleep(wait)

    def fetch(self, request: Request) -> tuple[Message, bytes]:
        """Headers and decompressed body. All requests are read-only and may be repeated."""
        return self.retrying(lambda: self._fetch_once(request))

    def _fetch_once(self, request: Request) -> tuple[Message, bytes]:
        connection, response = self.open(request)
        with as_disconnected(connection):
            body = _whole(response)
        self._idle.append(connection)
        return response.headers, body

    def open(
        self, request: Request, timeout: float | None = None
    ) -> tuple[HTTPConnection, HTTPResponse]:
        """Sends once; the caller reads the body and closes the connection."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        is_used = connection.sock is not None
        connection.timeout = timeout or self._timeout
        if is_used:
            connection.sock.settimeout(connection.timeout)
        try:
            with as_disconnected(connection):
                response = self._send(connection, request)
                body = _whole(response) if response.status >= 400 else b""
        except Disconnected as error:
            # The server has restarted, or closes idle connections: all idle ones are gone.
            self.close()
            if is_used and isinstance(error.__cause__, ConnectionError):
                return self.open(request, timeout)
            raise
        if response.status >= 400:
            self._idle.append(connection)
            raise error_of(response.status, response.headers.get("Retry-After"), body)
        return connection, response

    def _send(self, connection: HTTPConnection, request: Request) -> HTTPResponse:
        query = {
            name_of(name): to_text(value)
            for name, value in request.query.items()
            if value is not None
        }
        target = self._base + request.path + (f"?{urlencode(query)}" if query else "")
        log.debug("%s %s", request.method, without_keys(target))
        headers = {"Accept-Encoding": "gzip", **self._headers, **request.headers}
        fault = self._fault() if callable(self._fault) else self._fault
        if fault is not None:
            headers["Bookfeed-Fault"] = fault
        connection.request(request.method, target, body=request.body, headers=headers)
        response = connection.getresponse()
        # http.client accepts truncated headers as complete, without a body.
        if response.length is None and not response.chunked:
            raise HTTPException("The response ended within its headers.")
        return response

    def socket_address(self, path: str) -> dict[str, Any]:
        """Arguments of `websockets` for a WebSocket of the server."""
        scheme = "wss" if self._is_secure else "ws"
        host = f"[{self._host}]" if ":" in self._host else self._host
        port = f":{self._port}" if self._port else ""
        uri = f"{scheme}://{host}{port}{self._base}{path}"
        return {"uri": uri, "additional_headers": self._headers, "ssl": self._tls}

    def _connect(self) -> HTTPConnection:
        if self._is_secure:
            return HTTPSConnection(self._host, self._port, context=self._tls)
        return HTTPConnection(self._host, self._port)


def is_gzip(response: HTTPResponse) -> bool:
    return response.headers.get("Content-Encoding") == "gzip"


def inflater() -> Any:
    """Decompresses gzip piece by piece, and verifies it at the end."""
    return zlib.decompressobj(wbits=31)


def _whole(response: HTTPResponse) -> bytes:
    body = response.read()
    return gzip.decompress(body) if is_gzip(response) else body
