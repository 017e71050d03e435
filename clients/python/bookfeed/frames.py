"""Tables of pandas, polars or pyarrow, which are loaded only here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from .api import AMOUNTS
from .errors import MissingExtra

Library = Literal["pandas", "polars", "pyarrow"]
NEEDED = {"pandas": ["pandas", "pyarrow"], "polars": ["polars"], "pyarrow": ["pyarrow"]}


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def column_of(*path: str) -> str:
    """The column of a member, as in exports and files: `best_bid` of `bestBid`, `up_bid` of `up.bid`."""
    return "_".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in path)


def _flat(members: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Members of objects within a row become columns of their own; lists stay lists."""
    columns: dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, Mapping):
            columns.update(_flat(value, *path, name))
        else:
            # JSON prints an amount without a fraction as an integer.
            is_float = name in AMOUNTS and type(value) is int
            columns[column_of(*path, name)] = float(value) if is_float else value
    return columns


def _as_times(values: list[Any]) -> list[Any]:
    """Datetimes in UTC where every value is one."""
    present = [value for value in values if value is not None]
    if not present or not all(isinstance(each, str) and TIME.fullmatch(each) for each in present):
        return values
    return [value and datetime.fromisoformat(value.replace("Z", "+00:00")) for value in values]


def make_table(rows: Iterable[Mapping[str, Any]], library: Library) -> Any:
    """A table with a row for each of the rows, and columns as `column_of` names them."""
    require(library)
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    # An object that is null in a row has no members there.
    whole = {name for name in names if any(other.startswith(f"{name}_") for other in names)}
    null_only = {name for name in whole if all(row.get(name) is None for row in flat)}
    columns = {
        name: _as_times([row.get(name) for row in flat]) for name in names if name not in null_only
    }
    if library == "pyarrow":
        return importlib.import_module("pyarrow").table(columns)
    if library == "polars":
        return importlib.import_module("polars").DataFrame(columns, infer_schema_length=None)
    return importlib.import_module("pandas").DataFrame(columns)


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
