"""Whether a stream still lives. A dead connection says nothing, and neither does an idle one: so it is asked.

Asked by a unary call on the same connection: gRPC's own pings would get a client thrown out (facts: Pub/Sub 2).
"""

import asyncio
import logging
from typing import Any, Final

from google.api_core import exceptions

from sinks.intake.delivery import Limits
from sinks.intake.outbox import Requests
from sinks.intake.trouble import QuietStreamError, SilentStreamError

_LOG: Final = logging.getLogger(__name__)  # noqa: TID251 - sinks do not know how the program logs
#: The call's own deadline comes first; this much more, in seconds, and something of ours hangs, like its credentials.
_GRACE: Final = 1.0


class Pulse:
    """Signs of life of one stream. All times are the event loop's: the wall clock may jump."""

    def __init__(self, client: Any, path: str, requests: Requests, limits: Limits) -> None:
        self._client = client
        self._path = path
        self._requests = requests
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._brought = self._loop.time()
        self._answers_pings = False
        self._heard = self._loop.time()

    @property
    def silence(self) -> float:
        """For how many seconds the server has not been heard."""
        return self._loop.time() - self._heard

    def beat(self, *, brought: int) -> None:
        """The stream was answered, with so many messages."""
        self._heard = self._loop.time()
        self._requests.unanswered = None
        if brought:
            self._brought = self._heard
        else:
            self._answers_pings = True

    async def watch(self) -> None:
        """Returns never. Raises SilentStreamError or QuietStreamError, or what the server says of the subscription."""
        while True:
            now = self._loop.time()
            if self._pong_is_late(now):
                raise SilentStreamError
            if now > self._brought + self._limits.quiet:
                raise QuietStreamError
            due = self._heard + self._limits.probe_interval
            if now < due:
                await asyncio.sleep(due - now)
            else:
                await self.probe()

    async def probe(self) -> None:
        """Any answer will do, also a refusal: pulling does not need the permission to look at the subscription."""
        patience = self._limits.probe_timeout + _GRACE
        asked = self._loop.time()
        try:
            async with asyncio.timeout(patience):
                await self._client.get_subscription(
                    request={"subscription": self._path}, retry=None, timeout=self._limits.probe_timeout
                )
        except (exceptions.DeadlineExceeded, TimeoutError) as error:
            if self._loop.time() > asked + patience + _GRACE:
                _LOG.debug("The probe of %s was not listened to in time; asking again.", self._path)
                return
            raise SilentStreamError from error
        except (exceptions.NotFound, exceptions.ServiceUnavailable, exceptions.Unauthenticated):
            raise
        except exceptions.GoogleAPICallError as error:
            _LOG.debug("The probe of %s was answered with %s.", self._path, type(error).__name__)
        self._heard = self._loop.time()

    def _pong_is_late(self, now: float) -> bool:
        """Whether the stream has answered signs of life before, and leaves one unanswered."""
        pinged = self._requests.unanswered
        return self._answers_pings and pinged is not None and now > pinged + self._limits.pong_timeout
