"""Tables of pandas, polars and pyarrow, where these are installed."""

import importlib.util
import unittest
from decimal import Decimal
from unittest import mock

from bookfeed import errors
from tests.world import connect, finished

LIBRARIES = ("pandas", "polars", "pyarrow")


class Frames(unittest.TestCase):
    def test_a_table_has_the_rows_of_the_walk(self) -> None:
        for library in LIBRARIES:
            with self.subTest(library):
                self._compare(library)

    def _compare(self, library: str) -> None:
        if any(importlib.util.find_spec(name) is None for name in {library, "pyarrow"}):
            self.skipTest(f"{library} is not installed")
        market = finished(connect())["conditionId"]
        walked = list(connect(exact=True).snapshots("btc", market, outcome="up", depth=1))
        for exact in (True, False):
            client = connect(exact=exact)
            options = {"outcome": "up", "shape": "states", "depth": 1}
            table = client.to_df("btc", market, library=library, **options)
            self.assertEqual(len(table), len(walked))
            name = next(each for each in _columns(table) if "bid" in each and "price" in each)
            for row, value in zip(walked, _values(table, name)):
                best = row["bids"][0]["price"] if row["bids"] else None
                if best is None:
                    self.assertTrue(value is None or value != value)
                elif exact:
                    self.assertEqual((type(value), value), (Decimal, best))
                else:
                    self.assertEqual(value, float(best))

    def test_each_list_is_a_table_with_the_columns_of_files(self) -> None:
        for library in LIBRARIES:
            if any(importlib.util.find_spec(name) is None for name in {library, "pyarrow"}):
                self.skipTest(f"{library} is not installed")
            client = connect()
            market = finished(client)
            rows = list(client.quotes("btc", market["conditionId"], outcome="up"))
            table = client.quotes("btc", market["conditionId"], outcome="up").to_df(library)
            self.assertEqual(len(table), len(rows))
            self.assertIn("bid_size", _columns(table))
            self.assertEqual(list(_values(table, "mid"))[0], rows[0]["mid"])
            first = list(_values(table, "timestamp"))[0]
            self.assertEqual(first.isoformat()[:19], rows[0]["timestamp"][:19])
            panel = client.panel("btc", timeframe="5m", offsets=["-60s"]).to_df(library)
            self.assertLessEqual({"condition_id", "up_bid", "window_start"}, set(_columns(panel)))
            # A list without rows is a table without rows.
            none = client.markets("btc", to="2020-01-01T00:00:00Z").to_df(library)
            self.assertEqual(len(none), 0)

    def test_what_is_missing_is_named(self) -> None:
        real = importlib.import_module

        def without(name: str):
            if name in LIBRARIES:
                raise ImportError(name)
            return real(name)

        for library in LIBRARIES:
            with mock.patch("importlib.import_module", without):
                with self.assertRaises(errors.MissingExtra) as caught:
                    connect().to_df("btc", "any", library=library)
            self.assertIn(f"pip install 'bookfeed[{library}]'", str(caught.exception))
        with self.assertRaises(ValueError):
            connect().to_df("btc", "any", library="excel")


def _columns(table) -> list[str]:
    return list(getattr(table, "column_names", None) or table.columns)


def _values(table, name: str) -> list:
    column = table[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
