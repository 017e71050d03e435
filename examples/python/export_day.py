"""Downloads a day of a coin in one stream, and compares it with the SHA-256 of what was sent.

Usage: KEY=bf_live_… python3 export_day.py 2026-04-13 file [coin] [ndjson|csv|parquet]
"""
import hashlib
import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
if len(sys.argv) < 3:
    sys.exit(__doc__)
day, path = sys.argv[1:3]
coin = sys.argv[3] if len(sys.argv) > 3 else "btc"
format_name = sys.argv[4] if len(sys.argv) > 4 else "ndjson"
headers = {"Authorization": f"Bearer {os.environ['KEY']}"}

url = f"{server}/v1/{coin}/export?day={day}&format={format_name}"
digest = hashlib.sha256()
try:
    with urlopen(Request(url, headers=headers)) as response, open(path, "wb") as file:
        export_id = response.headers["X-Export-Id"]
        while piece := response.read(1 << 20):
            digest.update(piece)
            file.write(piece)

    with urlopen(Request(f"{server}/v1/exports", headers=headers)) as response:
        exports = json.load(response)["data"]
except HTTPError as error:
    sys.exit(error.read().decode())
sent = next(each for each in exports if each["exportId"] == export_id)
if sent["sha256"] != digest.hexdigest():
    sys.exit(f"{path} is not what was sent.")
print(f"{sent['snapshots']} snapshots, {sent['bytes']} bytes, complete: {path}")
