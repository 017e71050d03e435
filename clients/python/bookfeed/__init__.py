"""Order books of prediction markets, historical and live: a client of Bookfeed."""

from . import errors
from .async_client import AsyncClient
from .book import Book
from .client import Client
from .errors import ApiError, BookBroken, BookfeedError, Disconnected
from .export import Download
from .live import Event, Live, Stream
from .stream import Replay, Subscription
from .walk import Page, Rows, Walk

__all__ = [
    "ApiError",
    "AsyncClient",
    "Book",
    "BookBroken",
    "BookfeedError",
    "Client",
    "Disconnected",
    "Download",
    "Event",
    "Live",
    "Page",
    "Replay",
    "Rows",
    "Stream",
    "Subscription",
    "Walk",
    "errors",
]
