"""Each documented parameter of each method, sent once in each of its documented types."""

from __future__ import annotations

import inspect
import re
import tempfile
import unittest
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bookfeed import Client, Live, Walk, api
from bookfeed.filters import ExportFilters, LatestFilters
from tests.world import connect, finished

Forms = list[list[Any]]
"""Values of a parameter: those of an inner list mean the same, so their answers are equal."""

MOMENT = datetime(2026, 4, 13, tzinfo=timezone.utc)
TEXTS: dict[str, Forms] = {
    "cursor": [[None]],
    "source": [["simulated"]],
    "offsets": [["-60s", ["-60s"], ("-60s",)], ["-60s,-5s", ["-60s", "-5s"]]],
    "fields": [["id", ["id"]], ["id,outcome", ["id", "outcome"], ("id", "outcome")]],
}
INTEGERS = {
    "max_age_ms": 3_600_000,
    "heartbeat": 5,
    "time_bins": 20,
    "price_bins": 20,
    "window": 60,
}


def moments(moment: datetime) -> Forms:
    """Forms of 00:00 UTC of a day."""
    zoned = moment.astimezone(timezone(timedelta(hours=-4)))
    ms = int(moment.timestamp()) * 1000
    naive = moment.replace(tzinfo=None)
    day = moment.date()
    numbers = [ms, ms // 1000, str(ms), ms / 1000, Decimal(ms)]
    return [[*numbers, f"{naive}Z".replace(" ", "T"), f"{day}", day, naive, moment, zoned]]


def without_links(sql: str) -> str:
    """Two requests never get the same links, because a link contains when it expires."""
    return re.sub(r"bf_link_\w+", "", sql)


def forms_of(name: str, kind: Any) -> Forms:
    if get_origin(kind) is Literal:
        return [[each] for each in get_args(kind)]
    if kind == api.Time:
        return moments(MOMENT + timedelta(days=name in ("to", "until")))
    if name in TEXTS:
        return TEXTS[name]
    if kind == api.Decimals:
        # Fees have four decimals, and a price is below one.
        small = [] if name == "fee_bps" else [["0.00001", 0.00001, Decimal("1e-5")]]
        whole = [] if name in ("limit_price", "price") else [["1", 1, 1.0]]
        return [["0.5", 0.5, Decimal("0.5")], *small, *whole]
    if kind is bool:
        return [[True], [False]]
    if kind is int:
        return [[INTEGERS.get(name, 3)]]
    raise AssertionError(f"{name}: no values of {kind}")


class Parameters(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.market = finished(self.client)
        self.id = self.market["conditionId"]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "export.csv"

    def read(self, answer: Any) -> Any:
        """The first page of a walk, the first event of a stream, or all of anything else."""
        if isinstance(answer, Walk):
            return next(answer.pages()).rows
        if isinstance(answer, Live):
            next(iter(answer))
            return answer.close()
        return list(answer) if isinstance(answer, Iterator) else answer

    def calls(self) -> dict[str, tuple[Any, dict[str, Any], Callable[..., Any]]]:
        """Of each method the types of its filters, those that it needs, and a call."""
        client, market = self.client, self.id
        moving = next(iter(client.markets("btc", status="open")))["conditionId"]
        ts = self.market["windowEnd"]
        # Open markets change, and later prices are being recorded.
        over = {"to": MOMENT + timedelta(days=1)}
        few = {"limit": 20}
        short = {"shape": "states", "depth": 1, "outcome": "up"}
        fill = {"outcome": "up", "side": "buy", "size": "1"}
        panel = {"timeframe": "5m", "offsets": "-60s", **few}
        spot = {**over, **few}
        day = {"day": MOMENT.date(), **short}
        return {
            "markets": (api.ListMarkets, over, lambda **f: client.markets("btc", **f)),
            "snapshots": (api.ListSnapshots, few, lambda **f: client.snapshots("btc", market, **f)),
            "changes": (api.ListChanges, few, lambda **f: client.changes("btc", market, **f)),
            "quotes": (api.ListQuotes, few, lambda **f: client.quotes("btc", market, **f)),
            "prices": (api.ListPrices, few, lambda **f: client.prices("btc", market, **f)),
            "trades": (api.ListTrades, few, lambda **f: client.trades("btc", market, **f)),
            "spot": (api.ListSpot, spot, lambda **f: client.spot("btc", **f)),
            "settlements": (
                api.ListSettlements,
                spot,
                lambda **f: client.settlements("btc", **f),
            ),
            "days": (api.ListDays, {}, lambda **f: client.days("btc", **f)),
            "incidents": (api.ListIncidents, {}, lambda **f: client.incidents(**f)),
            "panel": (api.GetPanel, panel, lambda **f: client.panel("btc", **f)),
            "prices_now": (api.ListCurrentPrices, {}, lambda **f: client.prices_now("btc", **f)),
            "latest": (LatestFilters, {}, lambda **f: client.latest("btc", market, **f)),
            "as_of": (api.GetSnapshotsAt, {}, lambda **f: client.as_of("btc", market, ts, **f)),
            "as_of_many": (
                api.ListSnapshotsAt,
                {},
                lambda **f: client.as_of_many("btc", [(market, "up", ts)], **f),
            ),
            "fill": (api.GetFill, fill, lambda **f: client.fill("btc", market, ts, **f)),
            "resting_fill": (
                api.GetRestingFill,
                {**fill, "price": "0.5", "from_": MOMENT, "until": MOMENT + timedelta(days=1)},
                lambda **f: client.resting_fill("btc", market, **f),
            ),
            "calibration": (api.GetCalibration, {}, lambda **f: client.calibration("btc", **f)),
            "archive_sql": (
                api.GetArchiveSql,
                {"kind": "quotes", **over, "from_": MOMENT},
                lambda **f: without_links(client.archive_sql("btc", **f)),
            ),
            "coverage": (
                api.GetMarketCoverage,
                {},
                lambda **f: client.coverage("btc", market, **f),
            ),
            "coverage of a coin": (api.ListCoverage, {}, lambda **f: client.coverage("btc", **f)),
            "heatmap": (
                api.GetHeatmap,
                {"outcome": "up"},
                lambda **f: client.heatmap("btc", market, **f),
            ),
            "revisions": (api.ListRevisions, {}, lambda **f: client.revisions(**f)),
            "files": (api.ListFiles, {}, lambda **f: client.files("btc", **f)),
            "live": (api.FollowMarket, {}, lambda **f: client.live("btc", moving, **f)),
            "live of a coin": (api.FollowCoin, {}, lambda **f: client.live("btc", **f)),
            "export": (
                api.ExportMarket,
                short,
                lambda **f: client.export(self.file, "btc", market, **f).sha256,
            ),
            "export of a day": (
                api.ExportDay,
                day,
                lambda **f: client.export(self.file, "btc", **f).sha256,
            ),
        }

    def test_every_method_is_tried(self) -> None:
        takes = {
            name
            for name, method in vars(Client).items()
            if not name.startswith("_") and inspect.isfunction(method)
            if "filters" in inspect.signature(method).parameters
        }
        tried = {name.partition(" ")[0] for name in self.calls()}
        # Those take what any route does; `to_df` is an export; test_stream.py has the others.
        self.assertEqual(takes - {"get", "walk", "to_df", "stream", "replay"}, tried)

    def test_every_parameter_in_every_type(self) -> None:
        for method, (kind, needed, call) in self.calls().items():
            for name, hint in get_type_hints(kind).items():
                for forms in self.values(method, name, hint):
                    answers = []
                    for value in forms:
                        with self.subTest(f"{method}({name}={value!r})"):
                            left_out = {"usdc": ["size"], "slug": ["to"], "shape": ["depth"]}.get(name, [])
                            others = {k: v for k, v in needed.items() if k not in left_out}
                            answers.append(self.read(call(**{**others, name: value})))
                    with self.subTest(f"{method}({name}): {forms} are the same"):
                        self.assertEqual(answers, answers[:1] * len(forms))

    def values(self, method: str, name: str, kind: Any) -> Forms:
        if name == "slug":
            return [[self.market["slug"]]]
        if (method, name) == ("export", "kind"):
            # It needs a format of its own: test_export.py has one.
            return []
        if (method, name) in (("live of a coin", "timeframe"), ("archive_sql", "timeframe")):
            # Of other lengths no window is open, so no event comes, and there is no file.
            return [["5m"]]
        if name == "after":
            row = next(iter(self.client.snapshots("btc", self.id, limit=1)))
            return [[f"{self.id}:{row['id']}" if method == "export of a day" else row["id"]]]
        return forms_of(name, kind)

    def test_a_boolean_is_one(self) -> None:
        rows = list(self.client.markets("btc"))
        # Open markets change from one request to the next.
        with_books = [row["conditionId"] for row in self.client.markets("btc", with_books=True)]
        self.assertEqual(with_books, [row["conditionId"] for row in rows if row["snapshots"] > 0])

    def test_an_iterator_is_read_once_and_sent_with_every_page(self) -> None:
        names = ["id", "outcome"]
        for call in (
            lambda names: self.client.quotes("btc", self.id, limit=10, fields=names, to=self.end()),
            lambda names: self.client.latest("btc", self.id, fields=names),
            lambda names: self.client.as_of("btc", self.id, self.end(), fields=names),
            lambda names: self.client.as_of_many(
                "btc", [(self.id, "up", self.end())], fields=names
            ),
            lambda names: self.client.get(f"/v1/btc/markets/{self.id}/quotes", fields=names),
        ):
            # Rows of three pages, where there are so many.
            sent_once = islice(call(name for name in names), 25)
            self.assertEqual(list(sent_once), list(islice(call(names), 25)))

    def test_numbers_of_many_books_in_every_type(self) -> None:
        moment = [(self.id, "up", self.end())]
        for name, number in {"depth": 1, "max_age_ms": 3_600_000}.items():
            for value in (number, str(number), float(number), Decimal(number)):
                with self.subTest(f"as_of_many({name}={value!r})"):
                    many = list(self.client.as_of_many("btc", moment, **{name: value}))
                    of_one = self.client.as_of(
                        "btc", self.id, self.end(), outcome="up", **{name: value}
                    )
                    self.assertEqual(
                        [{**each["snapshot"], "ageMs": each["ageMs"]} for each in many], of_one
                    )

    def end(self) -> str:
        return self.market["windowEnd"]

    def test_moments_of_many_books_in_every_type(self) -> None:
        # A day that is over: no book of this market is older.
        forms = moments(MOMENT + timedelta(days=1))[0]
        answers = list(self.client.as_of_many("btc", [(self.id, "up", each) for each in forms]))
        self.assertEqual(answers, answers[:1] * len(forms))
        self.assertIsNotNone(answers[0]["snapshot"])
        for ts in forms:
            state = self.client.as_of("btc", self.id, ts, outcome="up")[0]
            self.assertEqual(state, {**answers[0]["snapshot"], "ageMs": answers[0]["ageMs"]})
            fill = self.client.fill("btc", self.id, ts, outcome="up", side="sell", size=1)
            self.assertEqual(fill["outcome"], "up")
