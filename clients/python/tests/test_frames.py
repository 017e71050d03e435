"""Tables of pandas, polars and pyarrow, where these are installed."""

import importlib.util
import re
import unittest
from decimal import Decimal
from itertools import islice
from unittest import mock

from bookfeed import Page, errors
from bookfeed.frames import columns_of
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

    def test_every_list_of_the_api_is_a_table_with_known_columns(self) -> None:
        self._require("pandas")
        client = connect()
        market = finished(client)
        place = {"{coin}": "btc", "{conditionId}": market["conditionId"]}
        more = {
            "/v1/{coin}/panel": {"timeframe": "5m", "offsets": "-60s"},
            "/v1/{coin}/markets/{conditionId}/snapshots/at": {"ts": market["windowEnd"]},
        }
        lists = 0
        for path, methods in client.get("/swagger/json")["paths"].items():
            answer = methods.get("get", {}).get("responses", {}).get("200", {})
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            if "items" not in schema.get("properties", {}).get("data", {}):
                continue
            lists += 1
            with self.subTest(path):
                filled = re.sub(r"\{\w+\}", lambda name: place[name[0]], path)
                self.assertGreater(len(columns_of(filled, {})), 0)
                if path == "/v1/billing/payments":
                    # This server sells nothing.
                    continue
                table = client.walk(filled, **more.get(path, {})).to_df()
                self.assertLessEqual(set(columns_of(filled, {})), set(table.columns))
        self.assertGreater(lists, 20)

    def test_files_are_read_by_their_links_without_a_key(self) -> None:
        self._require("polars")
        for name in ("pandas", "polars"):
            library = importlib.import_module(name)
            files = connect().files("btc", kind="quotes", numbers="double", links="1h")
            tables = [library.read_parquet(file["link"]) for file in files]
            self.assertGreater(len(tables), 0)
            self.assertIn("bid", tables[0].columns)

    def test_lists_that_come_whole_are_tables_too(self) -> None:
        self._require("pandas")
        client = connect()
        market = finished(client)
        id = market["conditionId"]
        for rows in (
            client.coins(),
            client.days("btc"),
            client.incidents(),
            client.prices_now("btc"),
            client.calibration("btc"),
            client.latest("btc", id),
            client.as_of("btc", id, market["windowEnd"]),
        ):
            table = rows.to_df()
            self.assertEqual(len(table), len(rows))
            self.assertGreater(len(table.columns), 0)

    def test_columns_are_the_same_whatever_the_values_are(self) -> None:
        for exact in (False, True):
            self._compare_columns(connect(exact=exact))

    def _compare_columns(self, client) -> None:
        id = finished(client)["conditionId"]
        over = {"to": "2026-04-14T00:00:00Z"}
        none = {"to": "2020-01-01T00:00:00Z"}
        panel = {"timeframe": "5m", "offsets": "-60s"}
        walks = {
            "markets": lambda f: client.markets("btc", **f),
            "snapshots": lambda f: client.snapshots("btc", id, limit=20, **f),
            "snapshots by fields": lambda f: client.snapshots("btc", id, fields="id,bids", **f),
            "consolidated": lambda f: client.snapshots("btc", id, view="consolidated", **f),
            "quotes": lambda f: client.quotes("btc", id, **f),
            "quotes by interval": lambda f: client.quotes("btc", id, interval="10s", **f),
            "quotes by fields": lambda f: client.quotes("btc", id, fields=["bid", "mid"], **f),
            "prices": lambda f: client.prices("btc", id, **f),
            "bars": lambda f: client.prices("btc", id, interval="1m", **f),
            "trades": lambda f: client.trades("btc", id, **f),
            "spot": lambda f: client.spot("btc", **({} if f is over else f)),
            "spot bars": lambda f: client.spot("btc", interval="1m", **({} if f is over else f)),
            "panel": lambda f: client.panel("btc", **panel, **f),
        }
        for library in LIBRARIES:
            self._require(library)
            for name, walk in walks.items():
                with self.subTest(f"{name} in {library}"):
                    rows = list(islice(walk(over), 20))
                    if name != "trades":
                        self.assertGreater(len(rows), 0)
                    full = self._table(walk(over), rows, library)
                    blank = [{key: _emptied(value) for key, value in row.items()} for row in rows]
                    self.assertEqual(_types(self._table(walk(over), blank, library)), _types(full))
                    empty = walk(none).to_df(library)
                    self.assertEqual((len(empty), _types(empty)), (0, _types(full)))
                    self.assertNotRegex(str(_types(empty)).lower(), "null")

    def _table(self, walk, rows, library):
        """The table of a walk over other rows."""
        walk._read = lambda cursor: Page(rows, None, True, None)
        return walk.to_df(library)

    def _require(self, library: str) -> None:
        if any(importlib.util.find_spec(name) is None for name in {library, "pyarrow"}):
            self.skipTest(f"{library} is not installed")

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


def _emptied(value):
    """What a row has where nothing is known; `covered` is always there."""
    is_known = isinstance(value, dict) and all(isinstance(each, bool) for each in value.values())
    return value if is_known or isinstance(value, (bool, int, list)) else None


def _types(table) -> dict[str, str]:
    is_arrow = hasattr(table, "column_names")
    kinds = [each.type for each in table.schema] if is_arrow else table.dtypes
    return dict(zip(_columns(table), map(str, kinds)))


def _columns(table) -> list[str]:
    return list(getattr(table, "column_names", None) or table.columns)


def _values(table, name: str) -> list:
    column = table[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
