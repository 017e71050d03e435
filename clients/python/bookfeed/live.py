"""Live streams over server-sent events (docs/live.md)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from .decode import decode
from .errors import ApiError, Disconnected
from .transport import Request, Transport, as_disconnected, inflater, is_gzip, keep, log

PIECE_BYTES = 1 << 16
HEARTBEAT_SECONDS = 15
"""Heartbeat interval; a connection that is silent three times as long counts as dead."""


@dataclass(frozen=True)
class Event:
    name: str
    """`snapshot`, `row`, `late`, `gap`, `market_open`, `market_update`, `market_closed` or
    `market_resolved`; in a replay also `market_end`."""
    data: dict[str, Any]
    cursor: str | None
    """Cursor that continues after this event; None if a stream cannot continue there."""


class Stream:
    """Events over one connection after another.

    A lost connection is reopened after the last event, so that no row is missing or repeated; after
    several failures in a row the last one is raised. `cursor` is the position after the last event
    taken: pass it to continue later. `async for` reads in a thread of the stream.
    """

    cursor: str | None

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._is_closed = self._is_over = False
        self._retry_seconds = 3.0

    def close(self) -> None:
        """Ends the stream, from any thread; iterating again continues it."""
        self._is_closed = True
        open_socket = self._socket()
        if open_socket is not None:
            # Wakes the thread that reads, which alone closes what it reads from.
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def _socket(self) -> socket.socket | None:
        """The socket of the open connection."""
        raise NotImplementedError

    def _follow(self) -> Iterator[Event]:
        """The events of one connection."""
        raise NotImplementedError

    async def __aiter__(self) -> AsyncIterator[Event]:
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(1, thread_name_prefix="bookfeed-live")
        events = iter(self)
        try:
            while True:
                event = await loop.run_in_executor(pool, next, events, None)
                if event is None:
                    return
                yield event
        finally:
            self.close()
            pool.shutdown(wait=False)

    def __iter__(self) -> Iterator[Event]:
        self._is_closed = self._is_over = False
        failures = 0
        while True:
            try:
                for event in self._follow():
                    failures = 0
                    yield event
                if self._is_over or self._is_closed:
                    return
                # The server is stopping, and says when to reconnect.
                raise Disconnected("The server ended the stream.")
            except (ApiError, Disconnected) as error:
                if self._is_closed:
                    return
                failures += 1
                wait = self._transport.wait_before(error, failures)
                if isinstance(error, Disconnected) and failures == 1:
                    wait = self._retry_seconds
                log.warning("%s Connecting again in %.1f s.", error, wait)
            self._transport.sleep(wait)


class Live(Stream):
    """An endless stream of a market, or of all open markets of a coin, over server-sent events."""

    def __init__(
        self, transport: Transport, path: str, query: Mapping[str, object], exact: bool
    ) -> None:
        super().__init__(transport)
        self.cursor = str(query["cursor"]) if query.get("cursor") else None
        others = {name: value for name, value in keep(query).items() if name != "cursor"}
        self._query = {"heartbeat": HEARTBEAT_SECONDS, **others}
        self._path, self._exact = path, exact
        self._connection: HTTPConnection | None = None

    def _socket(self) -> socket.socket | None:
        return None if self._connection is None else self._connection.sock

    def _follow(self) -> Iterator[Event]:
        headers = {"Accept": "text/event-stream"}
        if self.cursor:
            headers["Last-Event-ID"] = self.cursor
        request = Request(self._path, self._query, headers=headers)
        seconds = 3.0 * float(str(self._query["heartbeat"]))
        self._connection, response = self._transport.open(request, timeout=seconds)
        # A stream that ends before the last snapshot repeats all of them: yield none before that.
        snapshots: list[Event] = []
        try:
            for block in _blocks(self._connection, response):
                event = self._parse(block)
                if event is None:
                    continue
                snapshots.append(event)
                if event.name == "snapshot" and event.cursor is None:
                    continue
                for each in snapshots:
                    self.cursor = each.cursor or self.cursor
                    yield each
                snapshots.clear()
        finally:
            self._connection.close()
            self._connection = None

    def _parse(self, block: bytes) -> Event | None:
        fields: dict[str, str] = {}
        for line in block.decode().split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        if fields.get("retry", "").isdigit():
            self._retry_seconds = int(fields["retry"]) / 1000
        if "data" not in fields:
            return None
        data = decode(fields["data"], self._exact)
        return Event(fields.get("event", "message"), data, fields.get("id"))


def _blocks(connection: HTTPConnection, response: HTTPResponse) -> Iterator[bytes]:
    """Yields events when they are complete; drops an incomplete one."""
    inflate = inflater().decompress if is_gzip(response) else bytes
    rest = b""
    while True:
        with as_disconnected(connection):
            piece = response.read1(PIECE_BYTES)
            if not piece:
                return
            *blocks, rest = (rest + inflate(piece)).split(b"\n\n")
        yield from blocks
