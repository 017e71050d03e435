"""Tables of pandas, polars or pyarrow, which are imported only here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .api import AMOUNTS, COLUMNS
from .decode import to_datetime
from .errors import MissingExtra

Library = Literal["pandas", "polars", "pyarrow"]
Columns = Mapping[str, Any]
"""The type of each column: `float`, `int`, `bool`, `time`, `text`, or `any`; with `?` nullable. For
a list, `[type]` of its items; for a list of objects, the types of their members."""
DECIMAL = (38, 18)
"""Precision and scale of decimals, as in the server's Parquet files."""
NEEDED = {"pandas": ["pandas", "pyarrow"], "polars": ["polars"], "pyarrow": ["pyarrow"]}


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


Members = Mapping[str, "tuple[str, dict[str, Any]]"]
"""For each member of a row, the parameter that it depends on (`server` for the operator), and its
columns."""


@dataclass(frozen=True)
class Column:
    values: list[Any]
    kind: Any
    can_be_null: bool


Table = Mapping[str, Column]


def column_of(*path: str) -> str:
    """The column name of a member, as in exports and files: `bestBid` is `best_bid`, `up.bid` is
    `up_bid`."""
    return "_".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in path)


def _flat(members: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Flattens objects in a row into columns; lists stay lists."""
    columns: dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, Mapping):
            columns.update(_flat(value, *path, name))
        else:
            columns[column_of(*path, name)] = _with_floats(name, value)
    return columns


def _with_floats(name: str, value: Any) -> Any:
    """JSON prints an amount without a fraction as an integer, also in the levels of a book."""
    if type(value) is int and name in AMOUNTS:
        return float(value)
    if isinstance(value, list):
        return [_with_floats(name, each) for each in value]
    if isinstance(value, Mapping):
        return {key: _with_floats(key, each) for key, each in value.items()}
    return value


def _kind_of(values: list[Any]) -> str:
    """The type of an unknown column: a time if all values are UTC times."""
    present = [value for value in values if value is not None]
    is_time = all(isinstance(each, str) and TIME.fullmatch(each) for each in present)
    return "time" if present and is_time else "any"


def columns_of(path: str, filters: Mapping[str, Any]) -> Columns:
    """The columns of a list with these filters, and their types."""
    parts = path.split("/")
    for template, kinds in COLUMNS.items():
        known = template.split("/")
        if len(known) == len(parts) and all(
            name == part or name.startswith("{") for name, part in zip(known, parts)
        ):
            return _chosen(kinds[-1] if filters.get("interval") else kinds[0], filters)
    return {}


def _chosen(members: Members, filters: Mapping[str, Any]) -> Columns:
    fields = filters.get("fields")
    asked = set(fields.split(",") if isinstance(fields, str) else fields or ())
    has = {
        "": True,
        "fields": False,
        "interval": bool(filters.get("interval")),
        "view": filters.get("view") == "consolidated",
        # If rows have the member, they have the column.
        "server": False,
    }
    return {
        column: kind
        for name, (needs, columns) in members.items()
        if (name in asked if asked else has[needs])
        for column, kind in columns.items()
    }


def make_table(
    rows: Iterable[Mapping[str, Any]], library: Library, columns: Columns, exact: bool
) -> Any:
    """A table with one row per row, and the column names of `column_of`."""
    require(library)
    flat = [_flat(row) for row in rows]
    others = list(dict.fromkeys(name for row in flat for name in row if name not in columns))
    # An object that is null in a row has no members there.
    whole = {
        name
        for name in others
        if any(each.startswith(f"{name}_") for each in (*columns, *others))
        and all(row.get(name) is None for row in flat)
    }
    table = {}
    for name in (*columns, *(each for each in others if each not in whole)):
        values = [row.get(name) for row in flat]
        kind = columns.get(name) or _kind_of(values)
        can_be_null = None in values
        if isinstance(kind, str):
            can_be_null = can_be_null or kind.endswith("?")
            kind = kind.rstrip("?")
        if kind == "time":
            values = [value and to_datetime(value) for value in values]
        elif kind == "float" and not exact:
            values = [None if value is None else float(value) for value in values]
        table[name] = Column(values, _with_decimals(kind) if exact else kind, can_be_null)
    return MAKERS[library](table)


def _with_decimals(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_with_decimals(each) for each in kind]
    if isinstance(kind, Mapping):
        return {name: _with_decimals(each) for name, each in kind.items()}
    return "decimal" if kind == "float" else kind


def _make_pandas(table: Table) -> Any:
    pandas = importlib.import_module("pandas")
    types = {
        "time": "datetime64[us, UTC]",
        "float": "float64",
        "int": "int64",
        "bool": "bool",
        # Before pandas 3, text columns have dtype `object`.
        "text": "str" if int(pandas.__version__.split(".")[0]) > 2 else "object",
    }
    nullable = {**types, "int": "Int64", "bool": "boolean"}

    def series(column: Column) -> Any:
        known = nullable if column.can_be_null else types
        kind = known.get(column.kind, "object") if isinstance(column.kind, str) else "object"
        return pandas.Series(column.values, dtype=kind)

    return pandas.DataFrame({name: series(column) for name, column in table.items()})


def _make_polars(table: Table) -> Any:
    polars = importlib.import_module("polars")
    types = {
        "time": polars.Datetime("us", "UTC"),
        "float": polars.Float64,
        "int": polars.Int64,
        "bool": polars.Boolean,
        "text": polars.String,
        "decimal": polars.Decimal(*DECIMAL),
    }

    def type_of(kind: Any) -> Any:
        if isinstance(kind, list):
            return polars.List(type_of(kind[0]))
        if isinstance(kind, Mapping):
            return polars.Struct({name: type_of(each) for name, each in kind.items()})
        return types.get(kind)

    columns = [
        polars.Series(name, column.values, dtype=type_of(column.kind))
        for name, column in table.items()
    ]
    return polars.DataFrame(columns)


def _make_arrow(table: Table) -> Any:
    arrow = importlib.import_module("pyarrow")
    types = {
        "time": arrow.timestamp("us", "UTC"),
        "float": arrow.float64(),
        "int": arrow.int64(),
        "bool": arrow.bool_(),
        "text": arrow.string(),
        "decimal": arrow.decimal128(*DECIMAL),
    }

    def type_of(kind: Any) -> Any:
        if isinstance(kind, list):
            return arrow.list_(type_of(kind[0]))
        if isinstance(kind, Mapping):
            return arrow.struct({name: type_of(each) for name, each in kind.items()})
        return types.get(kind)

    return arrow.table(
        {name: arrow.array(each.values, type_of(each.kind)) for name, each in table.items()}
    )


MAKERS: dict[str, Callable[[Table], Any]] = {
    "pandas": _make_pandas,
    "polars": _make_polars,
    "pyarrow": _make_arrow,
}


def require(library: Library) -> None:
    """Checks the library before anything is downloaded."""
    if library not in NEEDED:
        raise ValueError(f"{library!r} is none of {', '.join(NEEDED)}.")
    for name in NEEDED[library]:
        try:
            importlib.import_module(name)
        except ImportError as error:
            extra = f"pip install 'bookfeed[{library}]'"
            raise MissingExtra(f"to_df(library={library!r}) needs {name}: {extra}.") from error


def read_parquet(path: Path, library: Library, exact: bool) -> Any:
    """Decimals stay decimals with `exact`, and become 64-bit floats otherwise."""
    if library == "polars":
        polars = importlib.import_module("polars")
        frame = polars.read_parquet(path)
        return frame if exact else frame.cast({polars.Decimal: polars.Float64})
    arrow = importlib.import_module("pyarrow")
    table = importlib.import_module("pyarrow.parquet").read_table(path)
    for index, each in enumerate(table.schema):
        if not exact and arrow.types.is_decimal(each.type):
            # Converted as text: a direct cast turns 0.54 into 0.5399999999999999.
            floats = table.column(index).cast(arrow.string()).cast(arrow.float64())
            table = table.set_column(index, each.with_type(arrow.float64()), floats)
    return table if library == "pyarrow" else table.to_pandas()
