"""The filter of the log sink: the text that Terraform gives to the real one, with the same variables in it."""

import re
from pathlib import Path
from typing import Final

__all__ = ["sink_filter"]

_FILTER: Final = "terraform/modules/event-pipeline/filter.tftpl"
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


def sink_filter(*, zones: str = "[^/]+", regions: str = "[^/]+", names: str = ".") -> str:
    """The text, by default with the module's defaults: all zones and all names. Each argument is a pattern of RE2.

    Taken from the packaged copy, else from the checkout.
    """
    packaged = Path(__file__).with_name("filter.tftpl")
    text = (packaged if packaged.exists() else Path(__file__).parents[2] / _FILTER).read_text(encoding="utf-8")
    values = {"zones": zones, "regions": regions, "names": names}
    return _VARIABLE.sub(lambda found: values[found[1]], text)
