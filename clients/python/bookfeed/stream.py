"""Live streams and replays over a WebSocket (docs/live.md), with the package `websockets`."""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .decode import decode, to_datetime
from .errors import Disconnected, MissingExtra, error_of, final_error_of, refusal_of
from .live import HEARTBEAT_SECONDS, Event, Stream
from .transport import name_of, path_of, to_json

if TYPE_CHECKING:
    from .client import Client

Message = dict[str, Any]
Send = Callable[[Message], None]
Place = tuple[datetime, int]

ALL = "all"
"""Name of the subscription to what was asked for; others are named after their market."""
ROWS = ("snapshot", "row")
EVENTS = (
    "gap",
    "market_open",
    "market_update",
    "market_closed",
    "market_resolved",
    "market_end",
)
COMPRESSED = {"encoding": "zlib-stream"}
BACK_MS = 600_000
"""How far back a replay begins again: rows arrive up to a few seconds after a window ends."""
REMEMBERED_MAX = 10_000
CLOSE_SECONDS = 1
FINAL_CLOSES = {
    4001: (401, "unauthenticated"),
    4002: (400, "invalid_request"),
    4029: (429, "too_many_streams"),
}
"""Close codes after which the same stream would be closed again: the errors that they are."""


def market_of(message: Message) -> str:
    """The market of a message, or `spot` for prices of the coin."""
    if message.get("channel") == "spot":
        return "spot"
    return str(message.get("conditionId") or message["data"]["conditionId"])


class SocketStream(Stream):
    """Messages over one WebSocket after another, each of them one zlib stream."""

    def __init__(
        self, client: Client, coin: str, market: str | None, filters: Mapping[str, Any]
    ) -> None:
        super().__init__(client._transport)
        _require()
        self._client, self._connection = client, None
        self._query: Message = {"coin": coin, **({"conditionId": market} if market else {})}
        for name, value in filters.items():
            if value is not None:
                is_number = isinstance(value, (int, float))
                self._query[name_of(name)] = value if is_number else to_json(value)
        self._held: dict[str, list[Message]] = {}
        self._seen: dict[str, None] = {}

    def _begin(self) -> Iterator[Message]:
        """The operations at the start of a connection."""
        raise NotImplementedError

    def _take(self, message: Message, send: Send) -> Iterator[Message]:
        """The messages that follow from this one; `send` sends an operation."""
        raise NotImplementedError

    def _socket(self) -> socket.socket | None:
        return None if self._connection is None else self._connection.socket

    def _follow(self) -> Iterator[Event]:
        self._held.clear()
        with _as_disconnected(), self._connect() as connection:

            def send(operation: Message) -> None:
                connection.send(json.dumps(operation))

            send({"op": "heartbeat", "seconds": HEARTBEAT_SECONDS})
            for operation in self._begin():
                send({**operation, **COMPRESSED})
            inflate = zlib.decompressobj().decompress
            while not self._is_over:
                data = connection.recv(timeout=3 * HEARTBEAT_SECONDS)
                text = data if isinstance(data, str) else inflate(data)
                message = decode(text, self._client.exact)
                if message["type"] == "error":
                    raise refusal_of(message)
                for each in self._take(message, send):
                    yield self._event_of(each)

    @contextmanager
    def _connect(self) -> Iterator[Any]:
        from websockets.sync.client import connect

        address = self._transport.socket_address("/v1/stream")
        # The server's heartbeats show that the connection is alive, even while no event is taken.
        quiet: Message = {"compression": None, "ping_interval": None, "max_size": None, "proxy": None}
        with connect(**address, **quiet, close_timeout=CLOSE_SECONDS) as connection:
            self._connection = connection
            try:
                yield connection
            finally:
                self._connection = None

    def _event_of(self, message: Message) -> Event:
        name, cursor = message["type"], message.get("cursor")
        if name in EVENTS:
            own = {key: message[key] for key in message if key not in ("type", "id")}
            return Event(name, message.get("data", own), cursor)
        # As over server-sent events, a row names its market if it may be of several.
        has_one = "conditionId" in self._query or message.get("channel") == "spot"
        named = {} if has_one else {"conditionId": message["conditionId"]}
        return Event("late" if message.get("late") else name, {**named, **message["data"]}, cursor)

    def _is_new(self, message: Message) -> bool:
        """True the first time for each message that is not a row."""
        if message["type"] == "market_update":
            return True
        parts = ("type", "outcome", "reason", "from", "to")
        key = json.dumps([market_of(message), *(message.get(part) for part in parts)])
        is_new = key not in self._seen
        self._seen[key] = self._seen.pop(key, None)
        if len(self._seen) > REMEMBERED_MAX:
            del self._seen[next(iter(self._seen))]
        return is_new

    def _whole(self, row: Message) -> list[Message]:
        """Snapshots that come together, once the last is here: it alone has a cursor."""
        market = market_of(row)
        group = [*self._held.pop(market, []), row]
        if "cursor" in row:
            return group
        self._held[market] = group
        return []


class Subscription(SocketStream):
    """An endless stream of a market, of all open markets of a coin, or of prices of the coin.

    `places` has the position in each open market of a coin: pass it to `stream` to continue later.
    For one market, and for `spot`, that is `cursor`.
    """

    def __init__(
        self,
        client: Client,
        coin: str,
        market: str | None,
        filters: Mapping[str, Any],
        cursor: str | None,
        places: Mapping[str, str] | None,
    ) -> None:
        super().__init__(client, coin, market, {"channel": "snapshots", **filters})
        self._of_coin = market is None and self._query["channel"] != "spot"
        if cursor and self._of_coin or places and not self._of_coin:
            raise ValueError("A stream of a coin continues from places, any other from a cursor.")
        self.cursor, self.places = cursor, dict(places or {})
        self._own: set[str] = set()
        """Markets with a subscription of their own on this connection."""
        self._has_begun = bool(places)
        self._was_away = False

    def _begin(self) -> Iterator[Message]:
        self._own = set(self.places)
        self._was_away = self._has_begun
        for market, cursor in self.places.items():
            yield self._continue(market, cursor)
        start = {"from": self.cursor} if self.cursor else {}
        yield {"op": "subscribe", "id": ALL, "onSlow": "close", **self._query, **start}

    def _continue(self, market: str, cursor: str) -> Message:
        # An id has at most 64 characters.
        one = {"op": "subscribe", "id": market[2:], "conditionId": market, "from": cursor}
        query = {name: value for name, value in self._query.items() if name != "timeframe"}
        return {**query, **one, "onSlow": "close"}

    def _take(self, message: Message, send: Send) -> Iterator[Message]:
        kind = message["type"]
        if kind == "live" and "conditionId" in message:
            yield from self._resolved_meanwhile(message["conditionId"])
        elif kind in ROWS:
            yield from self._take_row(message, send)
        elif kind in EVENTS and not self._is_twin(message) and self._is_new(message):
            market = market_of(message)
            if kind == "market_resolved" and self.places.pop(market, None) and market in self._own:
                send({"op": "unsubscribe", "id": market[2:]})
            yield message

    def _is_twin(self, message: Message) -> bool:
        """True if the market's own subscription sends the same message."""
        return message["id"] == ALL and market_of(message) in self._own

    def _take_row(self, message: Message, send: Send) -> Iterator[Message]:
        if self._is_twin(message):
            return
        self._has_begun = True
        market = market_of(message)
        is_unknown = self._of_coin and self._was_away and market not in self.places
        rows = self._whole(message)
        if is_unknown and message["type"] == "snapshot":
            rows = self._from_first(market, send)
        for row in rows:
            if self._of_coin:
                self.places[market] = row.get("cursor") or self.places.get(market, "")
            else:
                self.cursor = row.get("cursor") or self.cursor
            yield row

    def _from_first(self, market: str, send: Send) -> list[Message]:
        """Follows a market that opened while the connection was lost, from its first row."""
        self._held.pop(market, None)
        path = path_of(self._query["coin"], "markets", market, self._query["channel"])
        kept = {name: self._query[name] for name in ("outcome", "depth") if name in self._query}
        page = next(self._client.walk(path, limit=1, **kept).pages())
        if not page.rows or page.cursor is None:
            return []
        self._own.add(market)
        send({**self._continue(market, page.cursor), **COMPRESSED})
        first = {"type": "row", "conditionId": market, "cursor": page.cursor}
        return [{**first, "data": page.rows[0]}]

    def _resolved_meanwhile(self, market: str) -> Iterator[Message]:
        """The end of a market that was resolved while the connection was lost."""
        found = self._client.market(self._query["coin"], market)
        if found["status"] != "resolved":
            return
        self.places.pop(market, None)
        ends = [{"type": kind, "data": found} for kind in ("market_closed", "market_resolved")]
        yield from filter(self._is_new, ends)


class Replay(SocketStream):
    """Recorded rows of a market, or of the markets of a coin, again, in order of time."""

    def __init__(
        self, client: Client, coin: str, market: str | None, filters: Mapping[str, Any]
    ) -> None:
        super().__init__(client, coin, market, {"channel": "snapshots", "speed": 0, **filters})
        self._last: dict[str, Place] = {}
        """The last row taken of each market."""
        self._before: dict[str, Place] = {}
        """The same when this connection began: rows up to it come again."""
        self._times: tuple[datetime, datetime] | None = None
        """Times of the first and the last row taken."""
        self._is_catching_up = False

    def _begin(self) -> Iterator[Message]:
        self._before = dict(self._last)
        operation = {"op": "replay", "id": ALL, **self._query}
        self._is_catching_up = self._times is not None
        if self._times is not None:
            first, last = (int(time.timestamp() * 1000) for time in self._times)
            operation.pop("cursor", None)
            operation.update({"from": max(first, last - BACK_MS), "speed": 0})
        yield operation

    def _take(self, message: Message, send: Send) -> Iterator[Message]:
        self._is_over = message["type"] == "replay_end"
        if message["type"] in ROWS:
            found = [row for row in self._whole(message) if self._is_new_row(row)]
        else:
            is_new = message["type"] in EVENTS and self._is_new(message)
            found = [message] if is_new else []
        if found and self._is_catching_up:
            self._is_catching_up = False
            send({"op": "speed", "id": ALL, "speed": self._query["speed"]})
        yield from found

    def _is_new_row(self, row: Message) -> bool:
        market = market_of(row)
        time = to_datetime(row["data"]["timestamp"])
        place = (time, row["seq"])
        if market in self._before and place <= self._before[market]:
            return False
        self._last[market] = max(place, self._last.get(market, place))
        if row["type"] == "row":
            first, last = self._times or (time, time)
            self._times = first, max(last, time)
        return True


def _require() -> None:
    try:
        import websockets.sync.client
    except ImportError as error:
        extra = "pip install 'bookfeed[stream]'"
        raise MissingExtra(f"stream() and replay() need websockets: {extra}.") from error


@contextmanager
def _as_disconnected() -> Iterator[None]:
    """Raises the end of a connection as `Disconnected`, or as the refusal that it is."""
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

    try:
        yield
    except InvalidStatus as error:
        response = error.response
        after = response.headers.get("Retry-After")
        raise error_of(response.status_code, after, bytes(response.body or b"")) from error
    except ConnectionClosed as error:
        close = error.rcvd
        if close is not None and close.code in FINAL_CLOSES:
            status, code = FINAL_CLOSES[close.code]
            detail = close.reason or "The server closed the stream."
            raise final_error_of(status, code, detail) from error
        why = "lost" if close is None else f"closed by the server: {close.code} {close.reason}"
        raise Disconnected(f"The connection was {why.strip()}.") from error
    except (OSError, EOFError, zlib.error, WebSocketException) as error:
        raise Disconnected(f"{type(error).__name__}: {error}") from error
