"""Checks the chain of manifests of a server, and with a key every row of one of its days.

Usage: [KEY=bf_live_…] python3 check_manifest.py [2026-04-13]
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
key = os.environ.get("KEY")
headers = {"Authorization": f"Bearer {key}"} if key else {}
faults = []


def get(path):
    with urlopen(Request(server + path, headers=headers)) as response:
        return response.read().decode()


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def rows(path):
    """The text of each object of a list, as sent."""
    cursor, decoder = "", json.JSONDecoder()
    while cursor is not None:
        page = get(f"{path}?limit=1000{cursor}")
        at = len('{"data":[')
        while page[at] == "{":
            _, end = decoder.raw_decode(page, at)
            yield page[at:end]
            at = end + 1 if page[end] == "," else end
        after = json.loads('{"data":[' + page[at:])["nextCursor"]
        cursor = after and f"&cursor={quote(after)}"


def is_signed(pem, manifest):
    names = ["sequence", "day", "revision", "digest"]
    fields = [str(manifest[name]) for name in names] + [manifest["previous"] or "-"]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("key", "text", "signature")]
        signature = subprocess.run(
            ["openssl", "base64", "-d", "-A"],
            input=manifest["signature"].encode(), stdout=subprocess.PIPE, check=True,
        ).stdout
        text = " ".join(["bookfeed-manifest-1"] + fields).encode()
        for path, content in zip(paths, [pem.encode(), text, signature]):
            with open(path, "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", paths[0], "-rawin"]
        command += ["-in", paths[1], "-sigfile", paths[2]]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def check_chain():
    well_known = json.loads(get("/.well-known/bookfeed.json"))
    has_openssl = shutil.which("openssl") is not None
    count, previous = 0, None
    for text in rows("/v1/manifests"):
        manifest = json.loads(text)
        count += 1
        if manifest["sequence"] != count:
            sys.exit(f"manifest {count} is left out")
        if manifest["previous"] != previous:
            faults.append(f"manifest {count} does not follow the one before it")
        if manifest["publicKey"] != well_known["publicKey"]:
            faults.append(f"manifest {count} is signed by another key")
        elif has_openssl and not is_signed(well_known["publicKeyPem"], manifest):
            faults.append(f"manifest {count} is not what was signed")
        previous = manifest["digest"]
    if (well_known["newest"] or {}).get("digest") != previous:
        faults.append("the chain does not end with its head")
    print(f"{count} manifests" + ("" if has_openssl else "; signatures were not checked: no openssl"))


def check_market(coin, market):
    path = f"/v1/{coin}/markets/{market['conditionId']}"
    names = "conditionId symbol timeframe source slug windowStart windowEnd strike finalPrice winner"
    # Numbers keep their printed digits.
    shown = json.loads(get(path), parse_float=str, parse_int=str)
    facts = json.dumps([shown[name] for name in names.split()], separators=(",", ":"), ensure_ascii=False)
    served = {
        "facts": facts,
        "snapshots": "".join(row + "\n" for row in rows(path + "/snapshots")),
        # A null hash is left out: trades had no such member when the first manifests were signed.
        "trades": "".join(row.replace(',"transactionHash":null', "") + "\n" for row in rows(path + "/trades")),
    }
    for name, text in served.items():
        if sha256(text) != market[name + "Sha256"]:
            faults.append(f"market {market['conditionId']}: its {name} are others")


def check_day(day):
    answer = json.loads(get("/v1/manifest" + (f"?day={day}" if day else "")))
    manifest = answer["manifest"]
    canonical = json.dumps(manifest, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if sha256(canonical) != answer["digest"]:
        faults.append("the manifest is not the one of its digest")
    names = ["conditionId", "snapshotsSha256", "tradesSha256", "factsSha256"]
    count = 0
    for series in manifest["series"]:
        lines = [" ".join(market[name] for name in names) + "\n" for market in series["markets"]]
        if sha256("".join(lines)) != series["sha256"]:
            faults.append(f"{series['coin']}/{series['timeframe']} is not what its markets are")
        for market in series["markets"] if key else []:
            check_market(series["coin"], market)
            count += 1
    print(f"{manifest['day']} r{manifest['revision']}: {count} markets compared")


try:
    check_chain()
    check_day(sys.argv[1] if len(sys.argv) > 1 else None)
except HTTPError as error:
    sys.exit(error.read().decode())
if faults:
    sys.exit("\n".join(faults))
print("sound")
