"""The filter of the log sink: the text that Terraform gives to the real one, with the same variables in it."""

import re
from typing import Final

from controller.api.shipped import shipped

__all__ = ["sink_filter"]

_FILTER: Final = "terraform/modules/event-pipeline/filter.tftpl"
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


def sink_filter(*, zones: str = "[^/]+", regions: str = "[^/]+", names: str = ".") -> str:
    """The text, by default with the module's defaults: all zones and all names. Each argument is a pattern of RE2."""
    values = {"zones": zones, "regions": regions, "names": names}
    return _VARIABLE.sub(lambda found: values[found[1]], shipped(_FILTER))
