"""Code cites docs/facts.md by section, as in (facts: GCE 2 and 6.4): what is cited is there, and nothing else is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("controller", "simulator", "sinks", "tests")
CITATION = re.compile(r"facts: ((?:GCE|TPU|Pub/Sub|audit logs|control plane|kopf|reference API)[^):;]*)")
#: A family with its number, a number of the family before ("GCE 2 and 6.4"), or a family without numbers.
PLACE = re.compile(
    r"(?:\b(GCE|TPU|Pub/Sub|audit logs|control plane) |(?<!item ))\b(\d(?:\.\d)?)\b|\b(kopf|reference API)\b"
)


def sections() -> set[str]:
    """The headings of the facts, as code writes them."""
    titles = re.findall(r"^## ([^:\n]+)", (ROOT / "docs/facts.md").read_text(), re.MULTILINE)
    return {re.sub(r"^(?:Audit|Control|Reference)", lambda word: word[0].lower(), title) for title in titles}


def cited(text: str) -> set[str]:
    """The sections that a source text names."""
    found = set()
    for citation in CITATION.findall(" ".join(text.split())):
        family = ""
        for named, number, whole in PLACE.findall(citation):
            family = named or family
            found.add(whole or f"{family} {number}")
    return found


def test_code_cites_the_sections_that_are_there_and_each_of_them() -> None:
    sources = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))

    assert set().union(*(cited(path.read_text()) for path in sources)) == sections()
