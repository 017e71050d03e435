"""Streams and replays over a WebSocket that is cut as often as one likes."""

from __future__ import annotations

import importlib.util
import random
import threading
import time
import unittest
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from bookfeed import Disconnected, Event, errors
from tests.world import PATIENCE_SECONDS, Waits, connect, cutting, finished, open_market

HAS_WEBSOCKETS = importlib.util.find_spec("websockets") is not None
needs_websockets = unittest.skipUnless(HAS_WEBSOCKETS, "websockets is not installed")
DAY = {"from_": "2026-04-13T00:00:00Z", "to": "2026-04-14T00:00:00Z"}


@contextmanager
def closing(code: int, reason: str) -> Iterator[str]:
    """A server that closes each WebSocket with this code."""
    from websockets.sync.server import serve

    with serve(lambda connection: connection.close(code, reason), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"


def rows_of(events: Any) -> Any:
    return (event.data for event in events if event.name == "row")


def of_market(events: list[Event]) -> list[str]:
    return [event.name for event in events if event.name.startswith("market_")]


@needs_websockets
class Streams(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.market = finished(self.client)["conditionId"]

    def test_every_row_once_although_the_connection_breaks_again_and_again(self) -> None:
        first = next(self.client.snapshots("btc", self.market, limit=10).pages())
        whole = list(self.client.snapshots("btc", self.market))[10:]
        seed = random.Random(11)
        # The stream that refers to the books before it is short: all of them in a few kB a cut.
        budgets = [0, 1, 300, *(seed.randrange(400, 60_000) for _ in range(20))]
        waits = Waits()
        with cutting(*budgets) as server:
            cut = connect(server, attempts=40, sleep=waits)
            stream = cut.stream("btc", self.market, cursor=first.cursor)
            rows = list(islice(rows_of(stream), len(whole)))
        self.assertEqual(rows, whole)
        self.assertGreater(len(waits), 8)

    def test_exact_rows_and_changes_are_those_of_the_walk(self) -> None:
        client = connect(exact=True)
        page = next(client.changes("btc", self.market, limit=1).pages())
        walked = list(islice(client.changes("btc", self.market), 300))
        stream = client.stream("btc", self.market, channel="changes", cursor=page.cursor)
        self.assertEqual([*page.rows, *islice(rows_of(stream), 299)], walked)

    def test_a_coin_has_each_row_of_its_markets_over_connections_that_break(self) -> None:
        seed = random.Random(13)
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen: dict[str, list[Any]] = defaultdict(list)
        with cutting(*(seed.randrange(900, 3000) for _ in range(8))) as server:
            client = connect(server, sleep=lambda seconds: time.sleep(min(seconds, 0.1)))
            stream = client.stream("btc", channel="snapshots", depth=1)
            for event in stream:
                if event.name == "row":
                    seen[event.data["conditionId"]].append(event.data)
                if sum(map(len, seen.values())) >= 40:
                    break
                self.assertLess(time.monotonic(), deadline)
        self.assertEqual(set(stream.places) & set(seen), set(seen))
        for market, rows in seen.items():
            history = list(connect().snapshots("btc", market, depth=1, from_=rows[0]["timestamp"]))
            start = [row["id"] for row in history].index(rows[0]["id"])
            self.assertEqual(rows, history[start : start + len(rows)])
        # A later run goes on at its places.
        market, rows = next(iter(seen.items()))
        again = self.client.stream("btc", depth=1, places={market: stream.places[market]})
        following = next(event.data for event in again if event.name == "row")
        walked = self.client.snapshots("btc", market, depth=1, cursor=stream.places[market])
        self.assertEqual(following, next(iter(walked)))

    def test_prices_of_the_coin_come_and_continue(self) -> None:
        stream = self.client.stream("btc", channel="spot")
        first = list(islice(stream, 3))
        self.assertLessEqual({event.name for event in first}, {"snapshot", "row"})
        following = next(iter(self.client.stream("btc", channel="spot", cursor=stream.cursor)))
        history = self.client.spot("btc", cursor=stream.cursor)
        self.assertEqual(following.data, next(iter(history)))

    def test_refusals_are_raised(self) -> None:
        with self.assertRaises(errors.CursorInvalid):
            next(iter(self.client.stream("btc", self.market, cursor="nowhere")))
        with self.assertRaises(errors.UnknownMarket):
            next(iter(self.client.stream("btc", "0x" + "0" * 64)))
        with self.assertRaises(errors.Unauthenticated):
            next(iter(connect(key="bf_live_unknown").stream("btc", self.market)))
        with self.assertRaises(errors.InvalidParameter):
            next(iter(self.client.replay("btc")))
        with self.assertRaises(ValueError):
            self.client.stream("btc", cursor="one")
        waits = Waits()
        with cutting(*[0] * 50) as server, self.assertRaises(Disconnected):
            next(iter(connect(server, attempts=5, sleep=waits).stream("btc", self.market)))
        self.assertEqual(len(waits), 4)

    def test_a_close_that_would_come_again_is_raised_at_once(self) -> None:
        closes = {
            4001: (errors.Unauthenticated, "unauthenticated"),
            4002: (errors.ApiError, "invalid_request"),
            4029: (errors.TooManyStreams, "too_many_streams"),
        }
        for close, (kind, code) in closes.items():
            with self.subTest(close), closing(close, "The reason.") as server:
                waits = Waits()
                stream = connect(server, attempts=5, sleep=waits).stream("btc", self.market)
                with self.assertRaises(kind) as raised:
                    next(iter(stream))
                self.assertEqual((raised.exception.code, raised.exception.detail), (code, "The reason."))
                self.assertEqual(waits, [])
        with closing(4008, "Too slow.") as server, self.assertRaises(Disconnected):
            waits = Waits()
            next(iter(connect(server, attempts=3, sleep=waits).stream("btc", self.market)))
        self.assertEqual(len(waits), 2)

    def test_a_replay_of_a_market_has_the_rows_of_its_walk(self) -> None:
        events = list(self.client.replay("btc", self.market, channel="quotes"))
        rows = [event.data for event in events if event.name in ("row", "snapshot")]
        self.assertEqual(rows, list(self.client.quotes("btc", self.market)))
        ends = ["market_open", "market_closed", "market_resolved", "market_end"]
        self.assertEqual([each for each in of_market(events) if each in ends], ends)

    def test_a_replay_of_a_coin_is_the_same_over_connections_that_break(self) -> None:
        query: Any = {"channel": "quotes", "depth": None, **DAY}
        whole = list(self.client.replay("btc", **query))
        self.assertGreater(len(whole), 1000)
        seed = random.Random(17)
        with cutting(*(seed.randrange(2000, 200_000) for _ in range(5))) as server:
            cut = connect(server, attempts=40, sleep=Waits())
            events = list(cut.replay("btc", **query))
        for name in {event.name for event in whole}:
            with self.subTest(name):
                self.assertEqual(
                    [event.data for event in events if event.name == name],
                    [event.data for event in whole if event.name == name],
                )

    def test_a_stream_that_is_closed_by_another_thread_ends(self) -> None:
        stream = self.client.stream("btc", open_market(self.client))
        for count, _ in enumerate(stream):
            if count == 1:
                stream.close()
        self.assertGreaterEqual(count, 1)
