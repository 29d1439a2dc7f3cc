"""The join tokens that live now: their public halves for decisions, their values only until they are injected.

Values are `SecretStr` in this process's memory, and are dropped as soon as they are in the VM's metadata: a token
without a known value is minted anew, never read back.
"""

import secrets
import string
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from datetime import datetime, timedelta

from pydantic import SecretStr

from controller.core.model import Key, Kind
from controller.core.observed import Instance, TokenView

_ALPHABET = string.ascii_lowercase + string.digits


class TokenVault:
    """All bootstrap tokens of ours."""

    def __init__(self, life: timedelta, slot: timedelta, limit: int, limit_per_group: int) -> None:
        self._life = life
        self._slot = slot
        self._limit = limit
        self._limit_per_group = limit_per_group
        self._tokens: dict[str, TokenView] = {}
        self._secrets: dict[str, SecretStr] = {}
        #: Ids of tokens whose Secret is being created right now: a list may miss it, and it is there all the same.
        self._being_made: set[str] = set()

    def replace(self, tokens: Iterable[TokenView], asked: datetime) -> frozenset[Key]:
        """Take a complete list of the Secrets, asked for at this time: what was minted since may be missing in it.

        Returns the groups that have lost a token: somebody deleted its Secret.
        """
        kept = {t.id: t for t in self._tokens.values() if t.created >= asked or t.id in self._being_made}
        known, self._tokens = self._tokens, {token.id: token for token in tokens} | kept
        self._secrets = {token: secret for token, secret in self._secrets.items() if token in self._tokens}
        lost = [token for token in known.values() if token.id not in self._tokens]
        return frozenset(Key(Kind.GROUP, token.namespace, token.group) for token in lost)

    def lives(self, token_id: str, now: datetime) -> bool:
        """Whether this token is one of ours that should be there."""
        token = self._tokens.get(token_id)
        return token is not None and token.expires > now

    def mint(self, group: Key, instance: Instance, now: datetime) -> tuple[TokenView, SecretStr]:
        """A new token and its secret half (16 of a-z0-9). It counts as live from here on, whatever becomes of it."""
        public = _draw(6)
        while public in self._tokens:
            public = _draw(6)
        token = TokenView(
            id=public,
            namespace=group.namespace,
            group=group.name,
            instance=instance.name,
            instance_id=instance.id,
            expires=(now + self._life).replace(microsecond=0),
            created=now,
        )
        self._tokens[public] = token
        self._secrets[public] = SecretStr(_draw(16))
        self._being_made.add(public)
        return token, self._secrets[public]

    def made(self, token_id: str) -> None:
        """The call that creates the Secret has ended, one way or the other."""
        self._being_made.discard(token_id)

    def injectable(self, group: Key) -> Mapping[str, str]:
        """Instance id -> id of the newest token that was minted for it and is not injected yet."""
        return {token.instance_id: token.id for token in self.of_group(group) if token.id in self._secrets}

    def value_of(self, token_id: str) -> SecretStr | None:
        """The whole token, `<id>.<secret>`, as long as it waits for its injection."""
        secret = self._secrets.get(token_id)
        return SecretStr(f"{token_id}.{secret.get_secret_value()}") if secret else None

    def injected(self, token_id: str) -> None:
        """The value is where it belongs; this process needs it no more."""
        self._secrets.pop(token_id, None)

    def revoked(self, token_id: str) -> None:
        """The Secret is gone."""
        self._tokens.pop(token_id, None)
        self._secrets.pop(token_id, None)

    def expire(self, now: datetime) -> None:
        """Forget tokens whose Secrets the cluster's tokencleaner has deleted by now."""
        for token in [t for t in self._tokens.values() if t.expires <= now]:
            self.revoked(token.id)

    def of_group(self, group: Key) -> tuple[TokenView, ...]:
        """The tokens of a group, oldest first."""
        mine = [t for t in self._tokens.values() if t.namespace == group.namespace and t.group == group.name]
        return tuple(sorted(mine, key=lambda token: (token.created, token.id)))

    def strays(self, groups: Container[Key]) -> tuple[TokenView, ...]:
        """Tokens of groups that are not there any more."""
        return tuple(t for t in self._tokens.values() if Key(Kind.GROUP, t.namespace, t.group) not in groups)

    @property
    def live(self) -> int:
        """How many tokens there are."""
        return len(self._tokens)

    def slots(self, group: Key, now: datetime) -> int:
        """How many more may be minted for this group now. A VM that does not join gives its slot back in time."""
        held = Counter(
            Key(Kind.GROUP, token.namespace, token.group)
            for token in self._tokens.values()
            if now - token.created < self._slot
        )
        # A group that holds less than its even share of the whole may go on though others have used up the rest.
        share = self._limit // len({*held, group})
        free = max(self._limit - held.total(), share - held[group])
        return max(0, min(self._limit_per_group - held[group], free))


def _draw(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
