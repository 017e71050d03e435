"""A key is read as people paste it, and no more of it is shown than its last four characters."""

import logging
import os
import traceback
import unittest
from unittest import mock

from bookfeed import BookfeedError, Client
from tests.world import KEY, SERVER, Waits, connect, cutting

SECRET = KEY[len("bf_live_") : -4]


class Keys(unittest.TestCase):
    def test_space_around_a_key_is_none_of_it(self) -> None:
        for key in (f"{KEY}\n", f" {KEY}\r\n", f"\t{KEY} "):
            with self.subTest(repr(key)):
                self.assertEqual(connect(key=key).usage()["tier"]["id"], "enterprise")
                with mock.patch.dict(os.environ, {"BOOKFEED_KEY": key}):
                    self.assertEqual(Client(server=SERVER).usage()["tier"]["id"], "enterprise")

    def test_what_cannot_be_a_key_is_refused_without_being_shown(self) -> None:
        inside = (f"{KEY}\n{KEY}", f"{KEY[:20]} {KEY[20:]}", f"{KEY[:-1]}é")
        for key in (*inside, f"{KEY}\x00", f"“{KEY}”"):
            with self.subTest(ascii(key)), self.assertRaises(ValueError) as caught:
                connect(key=key)
            self._assert_hidden("".join(traceback.format_exception(caught.exception)))
            self._assert_hidden(repr(caught.exception))

    def test_a_key_in_the_wrong_place_is_not_shown(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Client(SERVER, KEY)
        self._assert_hidden(repr(caught.exception))
        self.assertIn(f"bf_live_…{KEY[-4:]}", str(caught.exception))

    def test_no_log_error_or_repr_shows_a_key(self) -> None:
        def read(server: str, name: str) -> str:
            client = connect(server, attempts=2, sleep=Waits())
            shown = [repr(client), repr(client._transport), repr(client.live("btc"))]
            for call in (client.market, client.coverage):
                with self.assertRaises(BookfeedError) as caught:
                    call("btc", name)
                error = caught.exception
                shown += [*traceback.format_exception(error), repr(error), repr(vars(error))]
            return "\n".join(shown)

        with self.assertLogs("bookfeed", logging.DEBUG) as logs, cutting(*[0] * 9) as broken:
            for server in (SERVER, broken, "http://127.0.0.1:9"):
                for name in (KEY, "no such market"):
                    self._assert_hidden(read(server, name))
        self.assertGreater(len(logs.output), 6)
        self._assert_hidden("\n".join(logs.output))

    def _assert_hidden(self, text: str) -> None:
        for part in (SECRET, SECRET[:12], SECRET[-12:]):
            self.assertNotIn(part, text)
