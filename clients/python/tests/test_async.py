"""The client for asyncio: it returns what the other client returns, while other tasks go on."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import threading
import unittest
from itertools import islice
from typing import Any

from bookfeed import AsyncClient, Client, errors
from tests.world import KEY, SERVER, connect, finished

HAS_WEBSOCKETS = importlib.util.find_spec("websockets") is not None


class Async(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.sync = connect()
        self.client = AsyncClient(KEY, SERVER)
        self.market = finished(self.sync)["conditionId"]

    def test_it_has_each_method_with_the_same_parameters(self) -> None:
        for name, method in vars(Client).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                with self.subTest(name):
                    found = getattr(AsyncClient, name)
                    wanted = list(inspect.signature(method).parameters)
                    self.assertEqual(list(inspect.signature(found).parameters), wanted)

    async def test_each_kind_of_method_returns_the_same(self) -> None:
        market = self.market
        self.assertEqual(await self.client.market("btc", market), self.sync.market("btc", market))
        moments: Any = [(market, "up", "2026-04-13T00:06:00Z")] * 3
        many = [each async for each in self.client.as_of_many("btc", moments)]
        self.assertEqual(many, list(self.sync.as_of_many("btc", moments)))
        pages = [page async for page in self.client.quotes("btc", market, limit=500).pages()]
        self.assertEqual(pages, list(self.sync.quotes("btc", market, limit=500).pages()))
        with self.assertRaises(errors.NoSnapshot):
            await self.client.as_of("btc", market, 0)

    @unittest.skipUnless(HAS_WEBSOCKETS, "websockets is not installed")
    async def test_a_replay_yields_the_events_of_a_replay_alone(self) -> None:
        replay = self.client.replay("btc", self.market, channel="quotes")
        alone = self.sync.replay("btc", self.market, channel="quotes")
        events = aiter(replay)
        for event in islice(alone, 100):
            self.assertEqual(await anext(events), event)
        await events.aclose()

    async def test_walks_beside_each_other_yield_the_rows_of_walks_alone(self) -> None:
        async def read(outcome: str) -> list[object]:
            walk = self.client.quotes("btc", self.market, outcome=outcome, limit=100)
            return [row async for row in walk]

        both = await asyncio.gather(read("up"), read("down"))
        alone = [list(self.sync.quotes("btc", self.market, outcome=o)) for o in ("up", "down")]
        self.assertEqual(both, alone)
        self.assertGreater(len(both[0]), 100)

    async def test_other_tasks_go_on_while_a_stream_is_silent(self) -> None:
        # A finished market gets no row, so that the stream waits after its first events.
        stream = self.client.live("btc", self.market)
        seen: list[str] = []

        async def follow() -> None:
            async for event in stream:
                seen.append(event.name)

        task = asyncio.create_task(follow())
        while len(seen) < 2:
            await asyncio.sleep(0.01)
        market = await self.client.market("btc", self.market)
        self.assertEqual(market["conditionId"], self.market)
        self.assertFalse(task.done())
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        for thread in threading.enumerate():
            if thread.name.startswith("bookfeed-live"):
                await asyncio.to_thread(thread.join, 100)
                self.assertFalse(thread.is_alive(), "The thread of the stream has ended.")

    async def test_a_stream_that_is_closed_by_another_task_ends(self) -> None:
        stream = self.client.live("btc", self.market)
        names: list[str] = []
        async for event in stream:
            names.append(event.name)
            if len(names) == 2:
                asyncio.get_running_loop().call_later(0.05, stream.close)
        self.assertEqual(names, ["snapshot", "snapshot"])
