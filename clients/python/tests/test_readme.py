"""The examples of the README, run one after the other as they stand there."""

import contextlib
import importlib.util
import io
import os
import re
import tempfile
import unittest
from unittest import mock

from tests.world import KEY, ROOT, SERVER

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
FRAMES = [block for block in BLOCKS if "to_df" in block]
SOCKETS = [block for block in BLOCKS if ".replay(" in block or ".stream(" in block]
HAS_PANDAS = all(importlib.util.find_spec(name) for name in ("pandas", "pyarrow"))
HAS_WEBSOCKETS = importlib.util.find_spec("websockets") is not None


def run(blocks: list[str]) -> str:
    """In a folder of their own; what they printed."""
    before = os.getcwd()
    given = mock.patch.dict(os.environ, {"BOOKFEED_KEY": KEY, "BOOKFEED_URL": SERVER})
    silent = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        os.chdir(folder)
        try:
            names: dict[str, object] = {}
            with given, silent:
                for block in blocks:
                    exec(compile(block, "README.md", "exec"), names)
        finally:
            os.chdir(before)
    return said.getvalue()


class Readme(unittest.TestCase):
    def test_every_example_runs(self) -> None:
        said = run([block for block in BLOCKS if block not in (*FRAMES, *SOCKETS)])
        for expected in ("rows of history", "market.parquet", "row {", "no_snapshot", "more"):
            self.assertIn(expected, said)

    @unittest.skipUnless(HAS_PANDAS, "pandas and pyarrow are not installed")
    def test_the_example_of_tables_runs(self) -> None:
        self.assertEqual(len(FRAMES), 1)
        self.assertIn("float64", run([BLOCKS[0], *FRAMES]))

    @unittest.skipUnless(HAS_WEBSOCKETS, "websockets is not installed")
    def test_the_examples_of_websockets_run(self) -> None:
        self.assertEqual(len(SOCKETS), 2)
        self.assertRegex(run([BLOCKS[0], *SOCKETS]), "(?s)sim-btc.*(up|down).*True")
