"""Downloads: whole and as they were sent, or not there."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import tempfile
import unittest
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

from bookfeed import Disconnected, errors
from tests.world import Waits, connect, cutting, finished


class Exports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.client = connect()
        self.market = finished(self.client)
        self.id = self.market["conditionId"]

    def test_a_market_has_the_rows_of_its_walk(self) -> None:
        done = self.client.export(self.folder / "a.ndjson", "btc", self.id)
        rows = [json.loads(line) for line in done.path.read_text().splitlines()]
        walked = list(self.client.snapshots("btc", self.id))
        # An export says of each row that it was simulated.
        self.assertEqual(rows, [{**row, "source": "simulated"} for row in walked])
        self.assertTrue(done.is_verified)
        # Compressed on its way, and the digest is that of what was sent.
        self.assertLess(done.bytes, done.path.stat().st_size / 5)

    def test_a_day_in_every_format(self) -> None:
        best = {"shape": "states", "depth": 1}
        for name, more in {"day.ndjson": {}, "day.csv": best, "day.parquet": best}.items():
            done = self.client.export(self.folder / name, "btc", day=date(2026, 4, 13), **more)
            self.assertTrue(done.is_verified)
            data = done.path.read_bytes()
            if name.endswith(".parquet"):
                self.assertEqual((data[:4], data[-4:]), (b"PAR1", b"PAR1"))
                self.assertEqual(hashlib.sha256(data).hexdigest(), done.sha256)
        with open(self.folder / "day.csv", newline="") as file:
            ids = {row["id"] for row in csv.DictReader(file)}
        rows = (self.folder / "day.ndjson").read_text().splitlines()
        self.assertEqual(ids, {json.loads(row)["id"] for row in rows})

    def test_files_that_engines_load(self) -> None:
        done = self.client.export(self.folder / "up.npz", "btc", self.id)
        with zipfile.ZipFile(done.path) as file:
            self.assertIsNone(file.testzip())
            self.assertEqual(file.namelist(), ["data.npy", "clipped.npy"])
        more: Any = {"format": "tardis", "kind": "trades", "outcome": "down"}
        done = self.client.export(self.folder / "down.csv", "btc", self.id, **more)
        header = done.path.read_text().splitlines()[0]
        self.assertEqual(header.split(",")[4:], ["id", "side", "price", "amount"])

    def test_progress_is_reported(self) -> None:
        seen: list[tuple[int, int | None]] = []
        done = self.client.export(
            self.folder / "a.csv", "btc", self.id, progress=lambda *each: seen.append(each)
        )
        self.assertEqual(seen[-1], (done.bytes, done.bytes))
        self.assertEqual([count for count, _ in seen], sorted(count for count, _ in seen))
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            self.client.export(self.folder / "b.csv", "btc", self.id, progress=True)
        self.assertRegex(shown.getvalue(), r"b\.csv .* MB/s")

    def test_a_download_that_breaks_off_is_made_again(self) -> None:
        whole = self.client.export(self.folder / "a.csv", "btc", self.id, outcome="up")
        waits = Waits()
        with cutting(0, 500, 20_000) as server:
            client = connect(server, sleep=waits)
            again = client.export(self.folder / "b.csv", "btc", self.id, outcome="up")
        self.assertEqual(again.path.read_bytes(), whole.path.read_bytes())
        self.assertEqual((again.is_verified, len(waits) >= 3), (True, True))

    def test_a_download_that_is_damaged_on_its_way_is_made_again(self) -> None:
        whole = self.client.export(self.folder / "a.parquet", "btc", self.id)
        waits = Waits()
        with cutting(damaged=100_000) as server:
            again = connect(server, sleep=waits).export(self.folder / "b.parquet", "btc", self.id)
        self.assertEqual(again.path.read_bytes(), whole.path.read_bytes())
        self.assertGreaterEqual(len(waits), 1)

    def test_files_of_days_come_together_and_none_comes_twice(self) -> None:
        seen: list[tuple[int, int | None]] = []
        waits = Waits()
        with cutting(0, 30_000, 5_000) as server:
            client = connect(server, sleep=waits)
            done = client.download_days(
                "btc", "quotes", self.folder, progress=lambda *each: seen.append(each)
            )
        self.assertGreaterEqual(len(waits), 3)
        listed = list(self.client.files("btc", kind="quotes", numbers="double"))
        self.assertEqual([each.path.name for each in done], [file["name"] for file in listed])
        for each, file in zip(done, listed):
            self.assertEqual(hashlib.sha256(each.path.read_bytes()).hexdigest(), file["sha256"])
            self.assertTrue(each.is_verified)
        total = sum(file["bytes"] for file in listed)
        self.assertEqual(seen[-1], (total, total))

        # A file that is whole is not requested again, and one that is damaged is.
        before = done[0].path.stat().st_mtime_ns
        again = self.client.download_days("btc", "quotes", self.folder)
        self.assertEqual([each.sha256 for each in again], [each.sha256 for each in done])
        self.assertEqual(done[0].path.stat().st_mtime_ns, before)
        done[0].path.write_bytes(b"damaged")
        self.client.download_days("btc", "quotes", self.folder)
        self.assertEqual(hashlib.sha256(done[0].path.read_bytes()).hexdigest(), done[0].sha256)
        before_all = self.client.download_days("btc", "quotes", self.folder, to="2026-04-13")
        self.assertEqual(before_all, [])

    def test_nothing_is_left_of_one_that_never_came_whole(self) -> None:
        with cutting(*[20_000] * 30) as server, self.assertRaises(Disconnected):
            connect(server, attempts=3, sleep=Waits()).export(self.folder / "a.csv", "btc", self.id)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_format_that_there_is_not_is_refused(self) -> None:
        with self.assertRaises(errors.InvalidParameter) as caught:
            self.client.export(self.folder / "a.xlsx", "btc", self.id)
        self.assertEqual(caught.exception.param, "format")

    def test_without_a_key_the_sample_is_read_without_a_digest(self) -> None:
        sample = connect(key="sample")._get("sample")["market"]
        path = self.folder / "a.parquet"
        done = connect(key="sample").export(path, sample["symbol"], sample["conditionId"])
        self.assertEqual((done.is_verified, path.read_bytes()[-4:]), (False, b"PAR1"))
