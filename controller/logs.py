"""Log lines on stderr, for people or as JSON for Cloud Logging; stdlib loggers of libraries go the same way."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from controller.core.redaction import redacted

_LIBRARIES = ("kopf", "aiohttp", "google", "urllib3", "asyncio", "grpc")


def configure(level: str, style: str) -> None:
    """Set up once, at the start. `style`: `console` or `json`."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _without_tokens,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(style)],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(number)
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def _rendering(style: str) -> list[Any]:
    if style == "json":
        return [_with_severity, structlog.processors.JSONRenderer(sort_keys=True)]
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]


def _without_tokens(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The last line of defence: no text that has the form of a join token leaves this process."""
    return {key: redacted(value) if isinstance(value, str) else value for key, value in event.items()}


def _with_severity(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Cloud Logging reads `severity`, not `level`."""
    event["severity"] = str(event.get("level", "info")).upper()
    return event
