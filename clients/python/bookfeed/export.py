"""Downloads that are complete and verified, or absent."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .api import DayFile
from .errors import ApiError, Disconnected
from .transport import Request, Transport, as_disconnected, inflater, is_gzip, path_of

PIECE_BYTES = 1 << 18
LOOKS_MAX = 20
"""Number of polls for the digest, which the server knows a moment after the last byte."""


@dataclass(frozen=True)
class Download:
    path: Path
    bytes: int
    """Size as received, compressed or not."""
    sha256: str
    is_verified: bool
    """True if the digest equals the server's. False if the server sends none, as for the key
    `sample`."""
    coverage: str | None


Progress = Union[bool, Callable[[int, Optional[int]], None]]
"""True prints a bar to standard error. A function is called with the number of bytes received and
the total, which is None if the server does not know it."""


def download(
    transport: Transport, request: Request, target: Path, progress: Progress = False
) -> Download:
    part = target.with_name(f"{target.name}.part")
    report = _bar(target.name) if progress is True else progress or _ignore
    try:
        done = transport.retrying(lambda: _download_once(transport, request, part, target, report))
        part.replace(target)
        return done
    finally:
        part.unlink(missing_ok=True)


def download_all(
    transport: Transport,
    files: Sequence[DayFile],
    folder: Path,
    connections: int,
    progress: Progress = False,
) -> list[Download]:
    """Downloads several files at once; returns them in their order.

    A file that is in the folder already, with its digest, is not requested. If a download fails,
    those that run are completed, no other begins, and the error is raised.
    """
    total = sum(file["bytes"] for file in files)
    report = _bar(f"{len(files)} files") if progress is True else progress or _ignore
    received: dict[str, int] = {}
    lock = threading.Lock()

    def note(name: str, count: int) -> None:
        with lock:
            received[name] = count
            report(sum(received.values()), total)

    def fetch(file: DayFile) -> Download:
        name = file["name"]
        target = folder / name
        if target.exists() and _digest_of_file(target) == file["sha256"]:
            note(name, file["bytes"])
            return Download(target, file["bytes"], file["sha256"], True, None)
        request = Request(file["url"])
        return download(transport, request, target, lambda count, _: note(name, count))

    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(connections) as pool:
        running = [pool.submit(fetch, file) for file in files]
        try:
            return [each.result() for each in running]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _ignore(count: int, total: int | None) -> None:
    pass


def _digest_of_file(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _bar(name: str) -> Callable[[int, int | None], None]:
    began = time.monotonic()
    shown = 0.0

    def report(count: int, total: int | None) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown < 0.1 and count != total:
            return
        shown = now
        speed = f"{count / max(now - began, 0.001) / 1e6:.1f} MB/s"
        share = "" if total is None else f"{_blocks(count, total)} {100 * count // total:3d} % "
        sys.stderr.write(f"\r{name}  {share}{count / 1e6:.1f} MB  {speed}  ")
        if count == total:
            sys.stderr.write("\n")
        sys.stderr.flush()

    return report


def _blocks(count: int, total: int) -> str:
    return "[" + "#" * (30 * count // total) + "." * (30 - 30 * count // total) + "]"


def _download_once(
    transport: Transport,
    request: Request,
    part: Path,
    target: Path,
    report: Callable[[int, int | None], None],
) -> Download:
    connection, response = transport.open(request)
    inflate = inflater() if is_gzip(response) else None
    length = response.headers["Content-Length"]
    total = int(length) if length and not inflate else None
    digest, count = hashlib.sha256(), 0
    try:
        with open(part, "wb") as file:
            while True:
                with as_disconnected(connection):
                    piece = response.read(PIECE_BYTES)
                    data = inflate.decompress(piece) if inflate else piece
                if not piece:
                    break
                digest.update(piece)
                count += len(piece)
                file.write(data)
                report(count, total)
    finally:
        connection.close()
    if inflate and not inflate.eof:
        raise Disconnected("The export is incomplete.")
    if total is None:
        report(count, count)
    sha256 = digest.hexdigest()
    stated = response.headers["Repr-Digest"]
    if stated is not None:
        # The digest of a day file never changes.
        sent: str | None = base64.b64decode(stated.split(":")[1]).hex()
    else:
        sent = _digest_of(transport, response.headers["X-Export-Id"])
    if sent not in (None, sha256):
        raise Disconnected(f"The download has the digest {sha256}, but the server sent {sent}.")
    return Download(target, count, sha256, sent is not None, response.headers["X-Coverage"])


def _digest_of(transport: Transport, export_id: str) -> str | None:
    """The digest of the bytes sent; None if the server sends none."""
    for _ in range(LOOKS_MAX):
        try:
            exports = json.loads(transport.fetch(Request(path_of("exports")))[1])["data"]
        except ApiError as error:
            if error.code != "unauthenticated":
                raise
            return None
        for each in exports:
            if each["exportId"] == export_id and each["state"] != "running":
                # Null after an interrupted download; no digest equals it.
                return each["sha256"] or each["state"]
        transport.sleep(0.1)
    return None
