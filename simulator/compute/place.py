"""Where a call points: a path of the Compute API taken apart (facts: GCE 1, the table of methods)."""

from dataclasses import dataclass

__all__ = ["Place", "read_place"]

_ROOT = "/compute/v1/projects/"


@dataclass(frozen=True, slots=True)
class Place:
    """`scope`: zones, regions, global or aggregated. `location`: the zone or region. `name` and `verb` may be ""."""

    project: str
    scope: str
    location: str
    collection: str
    name: str = ""
    verb: str = ""

    @property
    def scope_path(self) -> str:
        """`projects/p/zones/z`, `projects/p/regions/r` or `projects/p/global`."""
        where = f"projects/{self.project}/{self.scope}"
        return f"{where}/{self.location}" if self.location else where

    @property
    def path(self) -> str:
        """The resource, or with no name the collection."""
        where = f"{self.scope_path}/{self.collection}"
        return f"{where}/{self.name}" if self.name else where


def read_place(path: str) -> Place | None:
    """None when the path is none of the Compute API's."""
    if not path.startswith(_ROOT):
        return None
    project, *rest = path.removeprefix(_ROOT).split("/")
    if not project or not rest or not all(rest):
        return None
    scope, *rest = rest
    location = ""
    if scope in {"zones", "regions"} and rest:
        location, *rest = rest
    if scope not in {"zones", "regions", "global", "aggregated"} or not 1 <= len(rest) <= 3:
        return None
    return Place(project, scope, location, *rest)
