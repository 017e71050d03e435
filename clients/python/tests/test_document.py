"""What is written down of rows, compared with the API document of the server."""

import unittest
from typing import Any, get_args, get_type_hints

from bookfeed import decode, filters, rows
from bookfeed.decode import AMOUNTS
from bookfeed.transport import Request, name_of
from tests.world import connect


class Document(unittest.TestCase):
    def setUp(self) -> None:
        _, body = connect()._transport.fetch(Request("/swagger/json"))
        document = decode.decode(body, exact=False)
        self.paths, self.schemas = document["paths"], document["components"]["schemas"]

    def test_methods_take_the_parameters_of_their_routes(self) -> None:
        market = "/v1/{coin}/markets/{conditionId}"
        # What a method says itself: where, when, and how the answer is encoded.
        own = {"ts", "format"}
        by_method = {
            "markets": ("/v1/{coin}/markets", filters.MarketFilters, {"numbers"}),
            "snapshots": (f"{market}/snapshots", filters.SnapshotFilters, set()),
            "quotes": (f"{market}/quotes", filters.QuoteFilters, {"numbers"}),
            "prices": (f"{market}/prices", filters.PriceFilters, {"numbers"}),
            "trades": (f"{market}/trades", filters.HistoryFilters, {"numbers"}),
            "spot": ("/v1/{coin}/spot", filters.SpotFilters, {"numbers"}),
            "panel": ("/v1/{coin}/panel", filters.PanelFilters, {"numbers"}),
            "prices_now": ("/v1/{coin}/prices", filters.OpenPriceFilters, set()),
            "as_of": (f"{market}/snapshots/at", filters.MomentFilters, set()),
            "fill": (f"{market}/fill", filters.FillFilters, set()),
            "heatmap": (f"{market}/heatmap", filters.HeatmapFilters, set()),
            "revisions": ("/v1/revisions", filters.RevisionFilters, {"numbers"}),
            "files": ("/v1/{coin}/files", filters.FileFilters, set()),
            "coverage of a market": (f"{market}/coverage", filters.CoverageFilters, set()),
            "coverage": ("/v1/{coin}/coverage", filters.CoinCoverageFilters, set()),
            "live of a market": (f"{market}/live", filters.LiveFilters, set()),
            "live": ("/v1/{coin}/live", filters.CoinLiveFilters, set()),
        }
        for method, (path, kind, left_out) in by_method.items():
            names = {name_of(name) for name in kind.__annotations__}
            self.assertEqual((method, names), (method, self._query_of(path) - own - left_out))
        exports = self._query_of(f"{market}/export") | self._query_of("/v1/{coin}/export")
        names = {name_of(name) for name in filters.ExportFilters.__annotations__}
        self.assertEqual(names, exports - own)
        body = self.paths["/v1/{coin}/snapshots/at"]["post"]["requestBody"]["content"]
        members = set(body["application/json"]["schema"]["properties"])
        names = {name_of(name) for name in filters.BatchFilters.__annotations__}
        self.assertEqual(names, members - {"requests"})

    def _query_of(self, path: str) -> set[str]:
        parameters = self.paths[path]["get"].get("parameters", [])
        return {each["name"] for each in parameters if each["in"] == "query"}

    def test_choices_are_those_of_the_document(self) -> None:
        market = "/v1/{coin}/markets/{conditionId}"
        expected = {
            (f"{market}/snapshots", "interval"): filters.Interval,
            (f"{market}/snapshots", "order"): filters.Order,
            (f"{market}/snapshots", "outcome"): filters.Outcome,
            (f"{market}/snapshots", "view"): filters.View,
            (f"{market}/live", "channel"): filters.Channel,
            ("/v1/{coin}/panel", "timeframe"): filters.Timeframe,
        }
        for (path, name), kind in expected.items():
            (parameter,) = (
                each for each in self.paths[path]["get"]["parameters"] if each["name"] == name
            )
            self.assertEqual((name, list(get_args(kind))), (name, parameter["schema"]["enum"]))

    def test_rows_have_the_members_of_the_document(self) -> None:
        on_request = {"receivedAt", "sources"}
        others = {
            **{"Level": {"source"}, "Snapshot": on_request, "AgedSnapshot": on_request},
            **{"Quote": {"time", "ageMs", "receivedAt"}, "Price": set(), "Trade": set()},
            **{"Market": set(), "PanelRow": set(), "DayFile": set(), "Revision": set()},
        }
        for name, left_out in others.items():
            members = set(get_type_hints(getattr(rows, name)))
            described = set(self.schemas[name]["properties"])
            self.assertEqual((name, members | left_out), (name, described))

    def test_decimals_are_known_and_are_integers_nowhere(self) -> None:
        kinds: dict[str, set[str]] = {"number": set(), "integer": set()}

        def look(part: Any) -> None:
            if isinstance(part, list):
                for each in part:
                    look(each)
            if isinstance(part, dict):
                for name, schema in (part.get("properties") or {}).items():
                    for each in [schema, *schema.get("anyOf", [])]:
                        if each.get("type") in kinds:
                            kinds[each["type"]].add(name)
                for each in part.values():
                    look(each)

        look(self.schemas)
        self.assertEqual(AMOUNTS & kinds["integer"], set())
        # `x402Version` is a number of billing, which is not asked here.
        self.assertEqual(kinds["number"] - AMOUNTS, {"x402Version"})
