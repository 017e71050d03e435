"""Lists the newest finished markets of a coin. Usage: KEY=bf_live_… python3 markets.py [coin]"""
import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
coin = sys.argv[1] if len(sys.argv) > 1 else "btc"

url = f"{server}/v1/{coin}/markets?status=resolved&withBooks=true&limit=10"
try:
    with urlopen(Request(url, headers={"Authorization": f"Bearer {os.environ['KEY']}"})) as response:
        markets = json.load(response)["data"]
except HTTPError as error:
    sys.exit(error.read().decode())
columns = "conditionId", "timeframe", "windowStart", "winner", "snapshots"
for market in markets:
    print(*(market[name] for name in columns))
