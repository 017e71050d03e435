"""What tests run against: a real server, and a way to it on which connections break."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bookfeed import Client

ROOT = Path(__file__).parent.parent
SERVER, KEY, FREE_KEY = os.environ["SERVER"], os.environ["KEY"], os.environ["FREE_KEY"]
PATIENCE_SECONDS = 100
FAULTS = os.environ["FAULTS"]
"""Answers `/{times}/{code}/{name}/v1/…` so often with the error, then as the server."""


def connect(server: str = SERVER, **options: Any) -> Client:
    return Client(**{"key": KEY, "server": server, **options})


def finished(client: Client) -> Any:
    """A market that is over, of the day that was simulated: not the one that moves."""
    return next(iter(client.markets("btc", status="resolved", limit=1, to="2026-04-14T00:00:00Z")))


def open_market(client: Client) -> str:
    """An open market that stays so for the test; the next one opens within its five minutes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for market in client.markets("btc", status="open"):
            left = time.time() + 15
            if market["windowEnd"] > time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(left)):
                return market["conditionId"]
        time.sleep(0.5)
    raise AssertionError("No market is open.")


class Waits(list[float]):
    """Passes for `sleep`: notes how long was asked for, and goes on."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@contextmanager
def cutting(*budgets: int, damaged: int = -1) -> Iterator[str]:
    """Passes connections on to the server, the nth of them cut after so many bytes of its answers.

    Those after the last budget are not cut. One byte of the first of them may be damaged.
    """
    upstream = urlsplit(SERVER)
    rest, places = iter(budgets), iter([damaged])
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pass_on(source: socket.socket, target: socket.socket, left: int, place: int) -> None:
            try:
                while left > 0 and (data := bytearray(source.recv(min(65536, left)))):
                    if 0 <= place < len(data):
                        data[place] ^= 1
                    target.sendall(data)
                    left -= len(data)
                    place -= len(data)
            except OSError:
                pass
            for each in (source, target):
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        def serve() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return
                far = socket.create_connection((upstream.hostname, upstream.port))
                threading.Thread(target=pass_on, args=(near, far, 1 << 62, -1), daemon=True).start()
                answers = (far, near, next(rest, 1 << 62), next(places, -1))
                threading.Thread(target=pass_on, args=answers, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
