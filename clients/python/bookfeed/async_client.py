"""The client for asyncio: its requests run in threads, so that other tasks go on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from . import api
from .api import Time
from .client import Client
from .frames import Library
from .walk import Page, Walk

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
T = TypeVar("T")
Row = TypeVar("Row")


async def _in_threads(items: Iterator[T]) -> AsyncIterator[T]:
    """Takes each item in a thread."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


class AsyncWalk(Generic[Row]):
    """A `Walk` for `async for`."""

    def __init__(self, walk: Walk[Row]) -> None:
        self._walk = walk

    @property
    def cursor(self) -> str | None:
        return self._walk.cursor

    def pages(self) -> AsyncIterator[Page[Row]]:
        return _in_threads(self._walk.pages())

    async def __aiter__(self) -> AsyncIterator[Row]:
        async for page in self.pages():
            for row in page.rows:
                yield row

    async def to_df(self, library: Library = "pandas") -> Any:
        return await asyncio.to_thread(self._walk.to_df, library)


def _awaited(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    @functools.wraps(method)
    async def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.client, *args, **kwargs)

    return call


def _walked(
    method: Callable[Concatenate[Client, P], Walk[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncWalk[T]]:
    @functools.wraps(method)
    def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncWalk[T]:
        return AsyncWalk(method(self.client, *args, **kwargs))

    return call


def _same(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], T]:
    @functools.wraps(method)
    def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.client, *args, **kwargs)

    return call


class AsyncClient:
    """The methods of `Client`: walks and streams for `async for`, everything else to be awaited."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.client = Client(*args, **options)

    walk = _walked(Client.walk)
    markets = _walked(Client.markets)
    snapshots = _walked(Client.snapshots)
    changes = _walked(Client.changes)
    quotes = _walked(Client.quotes)
    prices = _walked(Client.prices)
    trades = _walked(Client.trades)
    spot = _walked(Client.spot)
    settlements = _walked(Client.settlements)
    panel = _walked(Client.panel)
    revisions = _walked(Client.revisions)
    files = _walked(Client.files)

    live = _same(Client.live)
    stream = _same(Client.stream)
    replay = _same(Client.replay)
    close = _same(Client.close)

    get = _awaited(Client.get)
    coins = _awaited(Client.coins)
    market = _awaited(Client.market)
    settlement = _awaited(Client.settlement)
    days = _awaited(Client.days)
    incidents = _awaited(Client.incidents)
    prices_now = _awaited(Client.prices_now)
    calibration = _awaited(Client.calibration)
    latest = _awaited(Client.latest)
    as_of = _awaited(Client.as_of)
    fill = _awaited(Client.fill)
    resting_fill = _awaited(Client.resting_fill)
    coverage = _awaited(Client.coverage)
    heatmap = _awaited(Client.heatmap)
    archive_sql = _awaited(Client.archive_sql)
    usage = _awaited(Client.usage)
    download = _awaited(Client.download)
    download_days = _awaited(Client.download_days)
    export = _awaited(Client.export)
    to_df = _awaited(Client.to_df)

    def as_of_many(
        self,
        coin: str,
        moments: Iterable[tuple[str, str, Time]],
        **filters: Unpack[api.ListSnapshotsAt],
    ) -> AsyncIterator[dict[str, Any]]:
        """Books at any number of times, as `Client.as_of_many`."""
        return _in_threads(self.client.as_of_many(coin, moments, **filters))
