"""The loader for nautilus_trader, as far as it can be tested without that package."""

import importlib.util
import os
import subprocess
import sys
import unittest
from decimal import Decimal

from tests.world import ROOT, connect, finished

PATH = ROOT / "examples/nautilus_loader.py"
spec = importlib.util.spec_from_file_location("nautilus_loader", PATH)
loader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loader)


class Loader(unittest.TestCase):
    def test_deltas_make_each_book_again(self) -> None:
        client = connect(exact=True)
        market = finished(client)
        instrument, *rows = loader.load(client, "btc", market["conditionId"], "up")
        books = list(client.snapshots("btc", market["conditionId"], outcome="up"))
        asset = books[0]["assetId"]
        self.assertEqual(instrument["id"], f"{market['conditionId']}-{asset}.POLYMARKET")
        self.assertEqual(instrument["expiration_ns"] - instrument["activation_ns"], 300 * 10**9)
        made, bids, asks = [], [], []
        for row in rows:
            self.assertEqual(row["type"], "OrderBookDelta")
            self.assertEqual(row["instrument_id"], instrument["id"])
            level = {name: Decimal(row["order"][name]) for name in ("price", "size")}
            if row["action"] == "CLEAR":
                bids, asks = [], []
            else:
                (bids if row["order"]["side"] == "BUY" else asks).append(level)
            if row["flags"] & loader.F_LAST:
                made.append((row["sequence"], row["ts_event"], bids, asks))
        self.assertEqual(
            made,
            [
                (int(book["id"]), loader.to_ns(book["timestamp"]), book["bids"], book["asks"])
                for book in books
            ],
        )
        self.assertIn([], [bids for _, _, bids, _ in made])

    def test_trades_say_who_was_the_aggressor_and_when(self) -> None:
        client = connect(exact=True)
        markets = client.markets("btc", from_="2026-04-15T00:00:00Z")
        trades = [each for one in markets for each in client.trades("btc", one["conditionId"])]
        self.assertGreater(len(trades), 0)
        for number, trade in enumerate(trades):
            tick = loader.to_trade(trade, "a.POLYMARKET", number)
            self.assertEqual(Decimal(tick["price"]), trade["price"])
            self.assertEqual(Decimal(tick["size"]), trade["size"])
            aggressor = {"buy": "BUYER", "sell": "SELLER"}[trade["side"]]
            self.assertEqual(tick["aggressor_side"], aggressor)
            self.assertEqual(tick["ts_event"] % 10**6, 0)

    def test_more_decimals_than_the_instrument_has_are_refused(self) -> None:
        self.assertEqual(loader.to_text(Decimal("0.5"), 4), "0.5000")
        with self.assertRaises(ValueError):
            loader.to_text(Decimal("0.12345"), 4)

    def test_it_says_what_it_needs(self) -> None:
        if importlib.util.find_spec("nautilus_trader") is not None:
            self.skipTest("nautilus_trader is installed")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(PATH), "btc", "any", "up", "nowhere"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install nautilus_trader", done.stderr)
