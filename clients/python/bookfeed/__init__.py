"""Order books of prediction markets, historical and live: a client of Bookfeed."""

from . import errors
from .client import Client
from .errors import ApiError, BookfeedError, Disconnected
from .export import Download
from .live import Event, Live
from .walk import Page, Walk

__all__ = [
    "ApiError",
    "BookfeedError",
    "Client",
    "Disconnected",
    "Download",
    "Event",
    "Live",
    "Page",
    "Walk",
    "errors",
]
