"""Forms of names in Google Cloud, as CEL rules with messages that say what to write."""

from typing import Final

from controller.api.rules import Rule, matches

PROJECT: Final = matches(
    "^[a-z][a-z0-9-]{4,28}[a-z0-9]$",
    "project must be a project ID: 6 to 30 lower-case letters, digits or '-', as my-gcp-project",
)
REGION: Final = matches("^[a-z]+-[a-z]+[0-9]+$", "region must be a Google Cloud region, as us-central1")
TOPOLOGY: Final = matches(
    "^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}$",
    "topology must be two or three numbers above zero joined by 'x', as 2x4 or 2x2x2",
)


def zone(field: str) -> Rule:
    """The field is a zone."""
    return matches("^[a-z]+-[a-z]+[0-9]+-[a-z0-9]+$", f"{field} must be a Google Cloud zone, as us-central1-c")
