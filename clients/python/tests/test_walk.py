"""Walks, moments and other reading."""

import os
import random
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import islice
from unittest import mock

from bookfeed import Client, Disconnected, errors
from tests.world import KEY, SERVER, Waits, connect, cutting, finished


class Walks(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.market = finished(self.client)
        self.id = self.market["conditionId"]

    def test_every_row_once_and_in_order(self) -> None:
        rows = list(self.client.snapshots("btc", self.id))
        self.assertEqual(len(rows), self.market["snapshots"])
        self.assertEqual(len({row["id"] for row in rows}), len(rows))
        self.assertEqual(rows, sorted(rows, key=lambda row: (row["timestamp"], int(row["id"]))))

    def test_a_walk_on_a_way_that_breaks_is_the_same(self) -> None:
        whole = list(self.client.quotes("btc", self.id, limit=500))
        seed = random.Random(7)
        budgets = [0, 1, 200, *(seed.randrange(60_000) for _ in range(30))]
        waits = Waits()
        with cutting(*budgets) as server:
            client = connect(server, attempts=40, sleep=waits)
            self.assertEqual(list(client.quotes("btc", self.id, limit=500)), whole)
        self.assertGreater(len(waits), 3)

    def test_a_way_that_stays_broken_is_given_up(self) -> None:
        waits = Waits()
        with cutting(*[100] * 50) as server:
            with self.assertRaises(Disconnected):
                connect(server, attempts=4, sleep=waits).market("btc", self.id)
        self.assertEqual(len(waits), 3)
        self.assertTrue(all(wait <= longest for wait, longest in zip(waits, (0.5, 1, 2))))

    def test_a_walk_is_continued_from_the_cursor_of_a_page(self) -> None:
        whole = list(self.client.quotes("btc", self.id, limit=700))
        first, second = islice(self.client.quotes("btc", self.id, limit=700).pages(), 2)
        rest = connect().quotes("btc", self.id, cursor=second.cursor, limit=1000)
        self.assertEqual([*first.rows, *second.rows, *rest], whole)
        self.assertTrue(str(first.coverage).startswith("partial;covered="))

    def test_a_walk_left_in_a_page_begins_with_that_page(self) -> None:
        walk = self.client.quotes("btc", self.id, limit=100)
        taken = list(islice(walk, 250))
        rest = list(connect().quotes("btc", self.id, limit=100, cursor=walk.cursor))
        self.assertEqual(taken[200:], rest[:50])

    def test_a_walk_at_its_end_returns_what_came_since(self) -> None:
        walk = self.client.quotes("btc", self.id)
        self.assertGreater(len(list(walk)), 1000)
        self.assertEqual(list(walk), [])

    def test_exact_numbers_are_decimals_as_printed(self) -> None:
        rows = list(connect(exact=True).snapshots("btc", self.id, limit=100))
        plain = list(self.client.snapshots("btc", self.id, limit=100))
        for row, other in zip(rows, plain):
            for side in ("bids", "asks"):
                for level, same in zip(row[side], other[side]):
                    self.assertIs(type(level["price"]), Decimal)
                    self.assertIs(type(level["size"]), Decimal)
                    self.assertEqual(level["size"], Decimal(repr(same["size"])))
        self.assertEqual(len(rows), len(plain))

    def test_lists_and_panel(self) -> None:
        markets = list(self.client.markets("btc", status="resolved", limit=1))
        self.assertGreaterEqual(len(markets), 3)
        self.assertEqual(self.client.market("btc", self.market["slug"]), self.market)
        offsets = ["-60s", "-5s"]
        day = {"from_": "2026-04-13T00:00:00Z", "to": datetime(2026, 4, 14, tzinfo=timezone.utc)}
        panel = self.client.panel("btc", timeframe="5m", offsets=offsets, limit=1, **day)
        self.assertEqual([row["offset"] for row in panel], offsets * 3)
        self.assertIn("btc", [coin["symbol"] for coin in self.client.coins()])
        bars = list(self.client.prices("btc", self.id, interval="1m", outcome="up"))
        self.assertTrue(all(bar["low"] <= bar["high"] for bar in bars if bar["low"] is not None))
        self.assertEqual(self.client.coverage("btc", self.id)["conditionId"], self.id)
        days = self.client.coverage("btc", from_="2026-04-13T00:00:00Z", to="2026-04-14T00:00:00Z")
        self.assertEqual([day["day"] for day in days["data"]], ["2026-04-13"])
        self.assertEqual(self.client.usage()["tier"]["id"], "enterprise")
        self.assertIsInstance(self.client.prices_now("btc"), list)
        heat = self.client.heatmap("btc", self.id, outcome="up", time_bins=10)
        self.assertEqual(heat["outcome"], "up")
        self.assertEqual({file["day"] for file in self.client.files("btc")}, {"2026-04-13"})
        self.assertIsInstance(list(self.client.revisions(coin="btc", limit=1)), list)
        by_path = self.client.walk(f"/v1/btc/markets/{self.id}/quotes", limit=700)
        self.assertEqual(list(by_path), list(self.client.quotes("btc", self.id)))


class Moments(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.id = finished(self.client)["conditionId"]

    def test_the_book_as_of_a_moment_is_the_last_one_before_it(self) -> None:
        rows = list(self.client.snapshots("btc", self.id, outcome="up"))
        moment = datetime.fromisoformat(rows[2000]["timestamp"].replace("Z", "+00:00"))
        (state,) = self.client.as_of("btc", self.id, moment, outcome="up")
        same = [row for row in rows if row["timestamp"] <= rows[2000]["timestamp"]][-1]
        self.assertEqual(state, {**same, "ageMs": 0})
        self.assertEqual(self.client.latest("btc", self.id, outcome="up"), [rows[-1]])
        self.assertEqual(len(self.client.latest("btc", self.id, depth=1)), 2)

    def test_many_moments_are_answered_in_their_order(self) -> None:
        rows = list(islice(self.client.snapshots("btc", self.id, outcome="down"), 1100))
        asked = [(self.id, "down", row["timestamp"]) for row in rows]
        first = datetime(2020, 1, 1, tzinfo=timezone.utc)
        found = list(self.client.as_of_many("btc", [*asked, (self.id, "up", first)], depth=1))
        self.assertEqual(
            [each["snapshot"]["timestamp"] for each in found[:-1]],
            [row["timestamp"] for row in rows],
        )
        self.assertEqual(found[-1]["error"], "no_snapshot")

    def test_what_an_order_would_have_met(self) -> None:
        ts = self.client.snapshots("btc", self.id)
        time = next(row["timestamp"] for row in islice(ts, 1000, None) if row["asks"])
        fill = connect(exact=True).fill("btc", self.id, time, outcome="up", side="buy", size="10")
        self.assertEqual(fill["filled"] + fill["unfilled"], Decimal(10))

    def test_dates_and_times_without_a_zone_are_in_utc(self) -> None:
        row = next(iter(self.client.snapshots("btc", self.id)))
        zoned = datetime.fromisoformat(row["timestamp"].replace("Z", "+00:00"))
        (state,) = self.client.as_of("btc", self.id, zoned, outcome=row["outcome"])
        naive = zoned.replace(tzinfo=None)
        self.assertEqual(self.client.as_of("btc", self.id, naive, outcome=row["outcome"]), [state])
        day = zoned.date()
        until = list(self.client.markets("btc", from_=day, to=day + timedelta(days=1)))
        text = self.client.markets(
            "btc", from_=f"{day}T00:00:00Z", to=f"{day + timedelta(days=1)}T00:00:00Z"
        )
        self.assertEqual(until, list(text))
        self.assertGreater(len(until), 0)

    def test_what_a_method_does_not_take_is_refused_before_it_is_sent(self) -> None:
        refused = {
            "quotes() does not take 'fee_bps'": lambda: self.client.quotes("btc", self.id, fee_bps=1),
            "markets() does not take 'known'": lambda: self.client.markets("btc", known=0),
            "live() does not take 'timeframe'": lambda: self.client.live("btc", "x", timeframe="5m"),
        }
        for text, call in refused.items():
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_fees_and_limits_of_a_fill(self) -> None:
        moment = self.client.market("btc", self.id)["lastSnapshot"]
        asked = {"outcome": "up", "side": "buy", "size": "1", "max_age_ms": 3_600_000}
        plain = self.client.fill("btc", self.id, moment, **asked)
        dear = self.client.fill("btc", self.id, moment, fee_rate="0.1", limit_price="0.99", **asked)
        self.assertEqual(plain["filled"], dear["filled"])

    def test_key_and_server_are_those_of_the_environment(self) -> None:
        given = {"BOOKFEED_KEY": KEY, "BOOKFEED_URL": SERVER}
        with mock.patch.dict(os.environ, given):
            self.assertEqual(Client().usage()["tier"]["id"], "enterprise")
            self.assertEqual(Client("sample").get("/v1/sample")["market"]["symbol"], "btc")

    def test_a_connection_that_the_server_closed_is_opened_again(self) -> None:
        with cutting(2000) as server:
            waits = Waits()
            client = connect(server, attempts=1, sleep=waits)
            for _ in range(6):
                try:
                    client.market("btc", self.id)
                except Disconnected:
                    continue
            self.assertEqual(client.market("btc", self.id)["conditionId"], self.id)
            self.assertEqual(waits, [])
        with self.assertRaises(errors.Unauthenticated):
            connect(key="bf_live_unknown").market("btc", self.id)
