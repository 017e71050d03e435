"""Live streams over server-sent events (docs/live.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from .decode import decode
from .errors import ApiError, Disconnected
from .transport import Request, Transport, as_disconnected, inflater, is_gzip, keep, log

PIECE_BYTES = 1 << 16
HEARTBEAT_SECONDS = 15
"""Something comes at least so often; a connection that is quiet three times as long is dead."""


@dataclass(frozen=True)
class Event:
    name: str
    """`snapshot`, `row`, `gap`, `market_open`, `market_closed`, `market_resolved`, `stale` or `current`."""
    data: dict[str, Any]
    cursor: str | None
    """Continues after this event; None where it is no place to continue from."""


class Live:
    """Events of a market, or of every open market of a coin, without end: leave when you like.

    When the connection is lost it is opened again after the last event, so that no row is missing
    and none is repeated; after several failures in a row the last one is raised. `cursor` is the
    place after the last event that was taken: give it to `live` to continue later.
    """

    def __init__(
        self, transport: Transport, path: str, query: Mapping[str, object], exact: bool
    ) -> None:
        self.cursor = str(query["cursor"]) if query.get("cursor") else None
        others = {name: value for name, value in keep(query).items() if name != "cursor"}
        self._query = {"heartbeat": HEARTBEAT_SECONDS, **others}
        self._transport, self._path, self._exact = transport, path, exact
        self._connection: HTTPConnection | None = None
        self._retry_seconds = 3.0

    def close(self) -> None:
        """Ends the stream; iterating again continues it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __iter__(self) -> Iterator[Event]:
        failures = 0
        try:
            while True:
                try:
                    for event in self._follow():
                        failures = 0
                        self.cursor = event.cursor or self.cursor
                        yield event
                    # The server stops; it says when to come back.
                    raise Disconnected("The server ended the stream.")
                except (ApiError, Disconnected) as error:
                    self.close()
                    failures += 1
                    wait = self._transport.wait_before(error, failures)
                    if isinstance(error, Disconnected) and failures == 1:
                        wait = self._retry_seconds
                    log.warning("%s Connecting again in %.1f s.", error, wait)
                self._transport.sleep(wait)
        finally:
            self.close()

    def _follow(self) -> Iterator[Event]:
        """Events of one connection."""
        headers = {"Accept": "text/event-stream"}
        if self.cursor:
            headers["Last-Event-ID"] = self.cursor
        request = Request(self._path, self._query, headers=headers)
        seconds = 3.0 * float(str(self._query["heartbeat"]))
        self._connection, response = self._transport.open(request, timeout=seconds)
        # Whoever is cut off before the last snapshot gets all of them again: return none before.
        snapshots: list[Event] = []
        for block in _blocks(self._connection, response):
            event = self._parse(block)
            if event is not None and event.name == "snapshot" and event.cursor is None:
                snapshots.append(event)
            elif event is not None:
                yield from snapshots
                snapshots.clear()
                yield event

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
    """Each event as soon as it is whole; one that breaks off is none."""
    inflate = inflater().decompress if is_gzip(response) else bytes
    rest = b""
    while True:
        with as_disconnected(connection):
            piece = response.read1(PIECE_BYTES)
            if not piece:
                return
            *blocks, rest = (rest + inflate(piece)).split(b"\n\n")
        yield from blocks
