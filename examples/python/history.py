"""Pages through a market's history in replay order, and counts changes of the top of the book.

Prices and sizes are exact decimals. Usage: KEY=bf_live_… python3 history.py market [coin]
"""
import gzip
import json
import os
import sys
import time
from decimal import Decimal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
if len(sys.argv) < 2:
    sys.exit(__doc__)
market = sys.argv[1]
coin = sys.argv[2] if len(sys.argv) > 2 else "btc"
headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Accept-Encoding": "gzip"}


def get(path):
    """Waits as long as the server asks when the rate limit is reached."""
    try:
        with urlopen(Request(server + path, headers=headers)) as response:
            body = response.read()
            if response.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            return json.loads(body, parse_float=Decimal)
    except HTTPError as error:
        if error.code != 429:
            sys.exit(error.read().decode())
        time.sleep(int(error.headers["Retry-After"]))
        return get(path)


def replay(path):
    """Yields every snapshot once. Only `limit` may change from page to page."""
    cursor = ""
    while cursor is not None:
        page = get(path + (f"&cursor={cursor}" if cursor else ""))
        yield from page["data"]
        cursor = page["nextCursor"]


tops = {}
snapshots = changes = 0
for row in replay(f"/v1/{coin}/markets/{market}/snapshots?limit=1000&depth=1"):
    top = row["bids"], row["asks"]
    changes += tops.get(row["outcome"]) != top
    tops[row["outcome"]] = top
    snapshots += 1
print(f"{snapshots} snapshots, {changes} changes of the top of the book")
