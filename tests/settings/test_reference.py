"""The reference page cannot go stale."""

from pathlib import Path

from controller.settings.reference import page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_of_all_settings_is_what_the_model_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
