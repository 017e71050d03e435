"""Parquet files as tables of pandas, polars or pyarrow, which are loaded only here."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Literal

from .errors import MissingExtra

Library = Literal["pandas", "polars", "pyarrow"]
NEEDED = {"pandas": ["pandas", "pyarrow"], "polars": ["polars"], "pyarrow": ["pyarrow"]}


def require(library: Library) -> None:
    """Raises before anything is downloaded."""
    if library not in NEEDED:
        raise ValueError(f"{library!r} is none of {', '.join(NEEDED)}.")
    for name in NEEDED[library]:
        try:
            importlib.import_module(name)
        except ImportError as error:
            extra = f"pip install 'bookfeed[{library}]'"
            raise MissingExtra(f"to_df(library={library!r}) needs {name}: {extra}.") from error


def read_parquet(path: Path, library: Library, exact: bool) -> Any:
    """With `exact`, decimals stay decimals; without, they become 64-bit floats."""
    if library == "polars":
        polars = importlib.import_module("polars")
        frame = polars.read_parquet(path)
        return frame if exact else frame.cast({polars.Decimal: polars.Float64})
    arrow = importlib.import_module("pyarrow")
    table = importlib.import_module("pyarrow.parquet").read_table(path)
    for index, each in enumerate(table.schema):
        if not exact and arrow.types.is_decimal(each.type):
            # By way of text: the direct cast makes 0.5399999999999999 of 0.54.
            floats = table.column(index).cast(arrow.string()).cast(arrow.float64())
            table = table.set_column(index, each.with_type(arrow.float64()), floats)
    return table if library == "pyarrow" else table.to_pandas()
