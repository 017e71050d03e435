"""What is written down of rows, compared with the API document of the server."""

import unittest
from typing import Any, get_type_hints

from bookfeed import decode, rows
from bookfeed.decode import AMOUNTS
from bookfeed.transport import Request
from tests.world import connect


class Document(unittest.TestCase):
    def setUp(self) -> None:
        _, body = connect()._transport.fetch(Request("/swagger/json"))
        self.schemas = decode.decode(body, exact=False)["components"]["schemas"]

    def test_rows_have_the_members_of_the_document(self) -> None:
        on_request = {"receivedAt", "sources"}
        others = {
            **{"Level": {"source"}, "Snapshot": on_request, "AgedSnapshot": on_request},
            **{"Quote": {"time", "ageMs", "receivedAt"}, "Price": set(), "Trade": set()},
            **{"Market": set(), "PanelRow": set()},
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
