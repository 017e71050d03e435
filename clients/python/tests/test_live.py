"""Live streams: whole books as they are written, cut as often as one likes."""

import random
import time
import unittest
from collections import defaultdict
from itertools import islice
from unittest import mock

from bookfeed import Disconnected, errors
from tests.world import PATIENCE_SECONDS, Waits, connect, cutting, finished, open_market


class Live(unittest.TestCase):
    def test_every_row_once_although_the_connection_breaks_again_and_again(self) -> None:
        client = connect()
        market = finished(client)["conditionId"]
        walk = client.snapshots("btc", market, limit=10)
        first = next(walk.pages())
        whole = list(client.snapshots("btc", market))[10:]
        seed = random.Random(11)
        budgets = [0, 1, 300, *(seed.randrange(400, 20_000) for _ in range(60))]
        waits = Waits()
        with cutting(*budgets) as server:
            cut = connect(server, attempts=40, sleep=waits)
            live = cut.live("btc", market, cursor=first.cursor)
            rows = [event.data for event in islice(_rows(live), len(whole))]
        self.assertEqual(rows, whole)
        self.assertGreater(len(waits), 20)

    def test_snapshots_of_the_start_come_once_although_it_is_cut_between_them(self) -> None:
        client = connect()
        market = finished(client)["conditionId"]
        last = client.latest("btc", market)
        for budget in range(400, 2400, 200):
            with cutting(budget) as server:
                live = iter(connect(server, sleep=Waits()).live("btc", market))
                found = [next(live) for _ in range(2)]
                live.close()
            self.assertEqual([event.name for event in found], ["snapshot", "snapshot"])
            self.assertEqual([event.data for event in found], last)

    def test_rows_as_they_are_written_are_those_of_the_history(self) -> None:
        seed = random.Random(13)
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen = defaultdict(list)
        with cutting(*(seed.randrange(1500, 9000) for _ in range(8))) as server:
            client = connect(server, sleep=lambda seconds: time.sleep(min(seconds, 0.1)))
            for event in _rows(client.live("btc", depth=1)):
                seen[event.data["conditionId"]].append(event.data)
                if sum(map(len, seen.values())) == 40:
                    break
                self.assertLess(time.monotonic(), deadline)
        for market, rows in seen.items():
            history = list(connect().snapshots("btc", market, depth=1, from_=rows[0]["timestamp"]))
            ids = [row["id"] for row in history]
            start = ids.index(rows[0]["id"])
            self.assertEqual(rows, history[start : start + len(rows)])

    def test_a_walk_goes_on_live_without_a_seam(self) -> None:
        client = connect(exact=True)
        market = open_market(client)
        walk = client.quotes("btc", market)
        rows = list(walk)
        live = client.live("btc", market, channel="quotes", cursor=walk.cursor)
        rows += [event.data for event in islice(_rows(live), 8)]
        history = list(client.quotes("btc", market))
        self.assertEqual(rows, history[: len(rows)])
        # The place of whoever left is the one to come back to.
        again = client.live("btc", market, channel="quotes", cursor=live.cursor)
        rows += [event.data for event in islice(_rows(again), 4)]
        self.assertEqual(rows, list(client.quotes("btc", market))[: len(rows)])

    def test_a_server_that_is_gone_is_given_up(self) -> None:
        waits = Waits()
        market = finished(connect())["conditionId"]
        with cutting(*[0] * 50) as server, self.assertRaises(Disconnected):
            next(iter(connect(server, attempts=5, sleep=waits).live("btc", market)))
        self.assertEqual(len(waits), 4)

    def test_refusals_are_raised(self) -> None:
        market = finished(connect())["conditionId"]
        with self.assertRaises(errors.CursorInvalid):
            next(iter(connect().live("btc", market, cursor="nowhere")))
        with self.assertRaises(errors.UnknownMarket):
            next(iter(connect().live("btc", "0x" + "0" * 64)))
        with self.assertRaises(errors.Unauthenticated):
            next(iter(connect(key="bf_live_unknown").live("btc", market)))

    def test_without_its_package_a_websocket_names_it(self) -> None:
        hidden = {"websockets": None, "websockets.sync": None, "websockets.sync.client": None}
        with mock.patch.dict("sys.modules", hidden):
            for call in (connect().stream, connect().replay):
                with self.assertRaises(errors.MissingExtra) as caught:
                    call("btc")
                self.assertIn("pip install 'bookfeed[stream]'", str(caught.exception))


def _rows(live):
    return (event for event in live if event.name == "row")
