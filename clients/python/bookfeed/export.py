"""Downloads that are whole and what was sent, or are not there."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .errors import ApiError, Disconnected
from .transport import Request, Transport, as_disconnected, inflater, is_gzip, path_of

PIECE_BYTES = 1 << 18
LOOKS_MAX = 20
"""How often to ask for the digest, which the server knows a moment after the last byte."""


@dataclass(frozen=True)
class Download:
    path: Path
    bytes: int
    """As received, compressed or not."""
    sha256: str
    is_verified: bool
    """The server has sent just this. False where it does not say, as to the key `sample`."""
    coverage: str | None


Progress = Union[bool, Callable[[int, Optional[int]], None]]
"""True prints a bar to standard error. A function is called with the bytes that have been received
and their number in all, which is None where the server does not know it."""


def download(
    transport: Transport, request: Request, target: Path, progress: Progress = False
) -> Download:
    part = target.with_name(f"{target.name}.part")
    report = _bar(target.name) if progress is True else progress or (lambda count, total: None)
    try:
        done = transport.retrying(lambda: _download_once(transport, request, part, target, report))
        part.replace(target)
        return done
    finally:
        part.unlink(missing_ok=True)


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
        raise Disconnected("The export broke off.")
    if total is None:
        report(count, count)
    sha256 = digest.hexdigest()
    stated = response.headers["Repr-Digest"]
    if stated is not None:
        # A day file: its digest does not change.
        sent: str | None = base64.b64decode(stated.split(":")[1]).hex()
    else:
        sent = _digest_of(transport, response.headers["X-Export-Id"])
    if sent not in (None, sha256):
        raise Disconnected(f"What came has the digest {sha256}, and what was sent {sent}.")
    return Download(target, count, sha256, sent is not None, response.headers["X-Coverage"])


def _digest_of(transport: Transport, export_id: str) -> str | None:
    """Of what the server has sent; None if it does not say."""
    for _ in range(LOOKS_MAX):
        try:
            exports = json.loads(transport.fetch(Request(path_of("exports")))[1])["data"]
        except ApiError as error:
            if error.code != "unauthenticated":
                raise
            return None
        for each in exports:
            if each["exportId"] == export_id and each["state"] != "running":
                # Null if it broke off, which no digest equals.
                return each["sha256"] or each["state"]
        transport.sleep(0.1)
    return None
