"""Books that are kept up to date by changes."""

import unittest
from decimal import Decimal

from bookfeed import Book, BookBroken
from tests.world import connect, finished


def row(id: str, previous: "str | None", bids: "list[tuple[float, float]]") -> dict[str, object]:
    return {
        "id": id,
        "prevId": previous,
        "outcome": "up",
        "timestamp": "2026-04-14T08:00:10.672Z",
        "snapshot": previous is None,
        "bids": [{"price": price, "size": size} for price, size in bids],
        "asks": [],
    }


class Books(unittest.TestCase):
    def test_each_state_is_the_snapshot_of_its_id(self) -> None:
        client = connect(exact=True)
        market = finished(client)["conditionId"]
        snapshots = {each["id"]: each for each in client.snapshots("btc", market)}
        books = {"up": Book(), "down": Book()}
        prices: list[object] = []
        ids = set()
        for change in client.changes("btc", market, limit=300):
            book = books[change["outcome"]]
            book.apply(change)
            stored = snapshots[change["id"]]
            for side, levels in (("bids", book.bids), ("asks", book.asks)):
                self.assertEqual(levels, [(each["price"], each["size"]) for each in stored[side]])
            prices.extend(price for price, _ in (book.bids + book.asks)[:1])
            ids.add(change["id"])
        self.assertEqual({type(price) for price in prices}, {Decimal})
        self.assertEqual(ids, snapshots.keys())

    def test_a_lost_row_breaks_it_until_the_next_whole_book(self) -> None:
        book = Book()
        with self.assertRaises(BookBroken):
            book.apply(row("2", "1", []))
        book.apply(row("3", None, [(0.5, 10), (0.4, 7)]))
        book.apply(row("4", "3", [(0.45, 2), (0.4, 0)]))
        self.assertEqual(book.bids, [(0.5, 10), (0.45, 2)])
        for lost in (row("6", "5", []), row("7", "6", [])):
            with self.assertRaises(BookBroken):
                book.apply(lost)
            self.assertIsNone(book.id)
        book.apply(row("8", None, [(0.6, 1)]))
        self.assertEqual((book.id, book.bids), ("8", [(0.6, 1)]))
        with self.assertRaises(BookBroken):
            book.apply(row("9", "8", [(0.3, 0)]))
