"""A test key: the simulated day, and each fault as documented."""

import os
import unittest
from itertools import islice

from bookfeed import Client, errors
from tests.world import Waits

SERVER, KEY = os.environ["TEST_SERVER"], os.environ["TEST_KEY"]
SLUG, MOMENT = os.environ["TEST_SLUG"], int(os.environ["TEST_MOMENT"])


def connect(fault=None, **options) -> Client:
    return Client(KEY, SERVER, fault=fault, **options)


class TestMode(unittest.TestCase):
    def test_the_day_is_read_walked_and_followed(self) -> None:
        self.assertEqual(len(list(connect().snapshots("btc", SLUG, outcome="up"))), 61)
        events = islice(connect().live("btc", channel="quotes", timeframe="5m"), 1)
        self.assertEqual([event.name for event in events], ["snapshot"])

    def test_rate_limited_is_sent_again_after_as_long_as_the_server_says(self) -> None:
        faults, waits = iter(["rate_limited", "rate_limited", None]), Waits()
        self.assertTrue(connect(lambda: next(faults), sleep=waits).coins())
        self.assertEqual(waits, [1, 1])
        with self.assertRaises(errors.RateLimited) as caught:
            connect("rate_limited", attempts=2, sleep=Waits()).coins()
        self.assertEqual((caught.exception.code, caught.exception.retry_after), ("rate_limited", 1))

    def test_stale_is_an_old_book_or_an_error(self) -> None:
        self.assertLessEqual(connect().as_of("btc", SLUG, MOMENT)[0]["ageMs"], 5000)
        self.assertGreater(connect("stale").as_of("btc", SLUG, MOMENT)[0]["ageMs"], 60_000)
        waits = Waits()
        with self.assertRaises(errors.ApiError) as caught:
            connect("stale", sleep=waits).as_of("btc", SLUG, MOMENT, max_age_ms=10_000)
        self.assertEqual((caught.exception.code, waits), ("stale", []))

    def test_gap_is_in_the_coverage_of_a_page(self) -> None:
        for page in connect("gap").quotes("btc", SLUG).pages():
            self.assertIn("recorder_down", page.coverage)
        for page in connect().quotes("btc", SLUG).pages():
            self.assertEqual(page.coverage, "full")

    def test_slow_is_an_answer_like_any_other(self) -> None:
        self.assertTrue(connect("slow").coins())

    def test_a_fault_that_there_is_not(self) -> None:
        with self.assertRaises(errors.ApiError) as caught:
            connect("gone").coins()
        problem = caught.exception.problem
        self.assertEqual((problem["code"], problem["param"]), ("invalid_parameter", "Bookfeed-Fault"))
