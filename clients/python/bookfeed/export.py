"""Downloads that are whole and what was sent, or are not there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

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


def download(transport: Transport, request: Request, target: Path) -> Download:
    part = target.with_name(f"{target.name}.part")
    try:
        done = transport.retrying(lambda: _download_once(transport, request, part, target))
        part.replace(target)
        return done
    finally:
        part.unlink(missing_ok=True)


def _download_once(transport: Transport, request: Request, part: Path, target: Path) -> Download:
    connection, response = transport.open(request)
    inflate = inflater() if is_gzip(response) else None
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
    finally:
        connection.close()
    if inflate and not inflate.eof:
        raise Disconnected("The export broke off.")
    sha256, sent = digest.hexdigest(), _digest_of(transport, response.headers["X-Export-Id"])
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
