"""The transcripts of docs/doctor.md are what doctor prints, but for a port."""

import re

import pytest

from controller.doctor.examine import CHECKS
from tests.docs.doctor_output import BLOCK, PAGE, transcripts


def masked(text: str) -> str:
    """Ports have four or five digits, and the table is as wide as they are."""
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)


@pytest.mark.slow
async def test_the_transcripts_are_what_happens() -> None:
    written = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert [masked(each) for each in written] == [masked(each) for each in await transcripts()]


def test_every_check_is_explained() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [name for name, _, _ in CHECKS]
