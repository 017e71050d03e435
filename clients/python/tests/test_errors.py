"""Every error code that there is a way to, as the server answers it."""

import json
import os
import re
import unittest

from bookfeed import ApiError, Disconnected, errors
from tests.world import FAULTS, FREE_KEY, ROOT, Waits, connect, finished

CODES: list[str] = json.loads(os.environ["CODES"])
PASSING = {"rate_limited", "too_many_streams", "internal", "storage_unavailable", "unavailable"}


class Errors(unittest.TestCase):
    def test_each_code_is_raised_with_what_the_document_says(self) -> None:
        self.assertGreater(len(CODES), 45)
        for code in CODES:
            with self.subTest(code), self.assertRaises(ApiError) as caught:
                connect(f"{FAULTS}/99/{code}/a", attempts=1).usage()
            error = caught.exception
            self.assertEqual(error.code, code)
            self.assertIs(type(error), errors.BY_CODE.get(code, ApiError))
            self.assertEqual(error.is_retryable, code in PASSING, code)
            self.assertGreaterEqual(error.status, 400)
            self.assertTrue(str(error.request_id).startswith("req_"))
            self.assertIn(str(error.request_id), str(error))
            self.assertEqual(error.detail, error.problem["detail"])

    def test_what_passes_is_sent_again_after_as_long_as_the_server_says(self) -> None:
        for code in sorted(PASSING):
            waits = Waits()
            with self.assertRaises(ApiError) as caught:
                connect(f"{FAULTS}/99/{code}/b", attempts=4, sleep=waits).usage()
            self.assertEqual((caught.exception.code, len(waits)), (code, 3))
            if caught.exception.retry_after is not None:
                self.assertEqual(waits, [caught.exception.retry_after] * 3)
            again = connect(f"{FAULTS}/2/{code}/c", attempts=4, sleep=Waits()).usage()
            self.assertEqual(again["tier"]["id"], "enterprise")

    def test_what_does_not_pass_is_sent_once(self) -> None:
        for code in sorted(set(CODES) - PASSING):
            waits = Waits()
            with self.assertRaises(ApiError):
                connect(f"{FAULTS}/99/{code}/d", sleep=waits).usage()
            self.assertEqual((code, waits), (code, []))

    def test_a_wait_that_is_too_long_is_left_to_the_caller(self) -> None:
        waits = Waits()
        client = connect(key=FREE_KEY, wait_max=0, sleep=waits)
        with self.assertRaises(errors.TierRoute) as refused:
            client.as_of("btc", finished(client)["conditionId"], 1776039300000)
        self.assertEqual(refused.exception.required_tier, "starter")
        with self.assertRaises(errors.RateLimited) as caught:
            for _ in range(11):
                client.prices_now("btc")
        self.assertTrue(0 < caught.exception.retry_after <= 60)
        self.assertEqual(waits, [])

    def test_what_is_no_problem_document_is_still_an_error(self) -> None:
        for status, is_retryable in ((404, False), (502, True), (503, True)):
            error = errors.error_of(status, "7", b"<html>")
            self.assertEqual((error.code, error.is_retryable), (f"http_{status}", is_retryable))
            self.assertEqual(error.retry_after, 7)

    def test_a_server_that_is_not_there(self) -> None:
        with self.assertRaises(Disconnected):
            connect("http://127.0.0.1:9", attempts=2, sleep=Waits()).coins()
        with self.assertRaises(ValueError):
            connect("127.0.0.1:3000")

    def test_each_class_is_a_code_that_is_documented(self) -> None:
        path = ROOT.parent.parent / "docs/errors.md"
        documented = set(re.findall(r"^## (\w+)$", path.read_text(), re.MULTILINE))
        self.assertEqual(set(errors.BY_CODE) - documented, set())
