"""What kubectl asks for instead of the objects: `meta.k8s.io/v1` Tables, and objects reduced to their metadata."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from simulator.kube.columns import age
from simulator.kube.jsonpath import compile_path
from simulator.kube.resources import Column, Resource
from simulator.seams import Json

IncludeObject = Literal["None", "Metadata", "Object"]


def partial(body: Json) -> Json:
    """An object as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": body["metadata"]}


def table(
    resource: Resource,
    bodies: Iterable[Json],
    now: datetime,
    *,
    metadata: Json,
    include: IncludeObject = "Metadata",
    headers: bool = True,
) -> Json:
    """The objects as a Table. `headers=False` for the second and later events of a watch."""
    cells = _cells_of(resource.columns)
    rows = [_row(body, cells(body, now), include) for body in bodies]
    definitions = [_definition(column) for column in resource.columns] if headers else None
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _row(body: Json, cells: list[Any], include: IncludeObject) -> Json:
    row: Json = {"cells": cells}
    if include == "Metadata":
        row["object"] = partial(body)
    elif include == "Object":
        row["object"] = body
    return row


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _cells_of(columns: Sequence[Column]) -> Callable[[Json, datetime], list[Any]]:
    readers = [_reader(column) for column in columns]
    return lambda body, now: [read(body, now) for read in readers]


def _reader(column: Column) -> Callable[[Json, datetime], Any]:
    if callable(column.source):
        return column.source
    find = compile_path(column.source)
    convert = _CONVERSIONS.get(column.type, _text)
    return lambda body, now: convert(find(body), now)


def _text(value: Any, _now: datetime) -> Any:
    if value is None:
        return ""
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _number(value: Any, _now: datetime) -> Any:
    return value


def _date(value: Any, now: datetime) -> Any:
    """A CRD's date column is told as an age, as apiextensions' tableconvertor does."""
    return age(value, now) if value else None


_CONVERSIONS: dict[str, Callable[[Any, datetime], Any]] = {
    "integer": _number,
    "number": _number,
    "boolean": _number,
    "date": _date,
}
