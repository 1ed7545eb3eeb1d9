"""Models by their names: ``provider/model``. An SDK is imported when its model is opened, not before."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import Final, TypeAlias

from actors.errors.model import ModelExtraError, ModelKeyError, ModelNameError
from actors.ports.model import Model
from runtime.config import variable
from runtime.models.catalogue import known_models
from runtime.models.demo import DEMO, demo_address
from runtime.models.governed import GovernedModel, Governors
from runtime.models.governor import Governor
from runtime.models.replay_samples import sample_model

Opener: TypeAlias = Callable[[str], AbstractAsyncContextManager[Model]]

KNOWN: Final = ("openai/NAME", "openai-chat/NAME", "anthropic/NAME", "demo", "replay")
"""``openai-chat`` is Chat Completions, at any compatible server when OPENAI_BASE_URL names one."""
REPLAY: Final = "replay"
LONGEST_REPLY: Final = 32_000
"""Tokens of a reply where the wire wants a number and nobody gave one; no more, though a model could."""


def open_model(name: str, governors: Governors | None = None) -> AbstractAsyncContextManager[Model]:
    """Open a model by its name; leaving closes its connections.

    Keys and addresses come from the environment: OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY,
    ANTHROPIC_BASE_URL. A server of one's own needs no key.

    Models of one provider share its key, and so the governor of ``governors`` that keeps its limits; without
    ``governors`` the model has one of its own, which knows only what the provider says.

    Raises:
        ModelNameError: no such provider, or no model named.
        ModelExtraError: the provider's SDK is not installed.
        ModelKeyError: the provider's key is not set.
        DemoModelError: the demo model does not run.
    """
    provider, _, model = name.partition("/")
    if name in {DEMO, f"{DEMO}/smollm2"}:
        return _demo()
    if name == REPLAY:
        return _replay()
    opener = _OPENERS.get(provider)
    if opener is None or not model:
        raise ModelNameError(name, KNOWN)
    return _governed(opener(model), (governors or Governors()).of(_KEYS[provider]))


@asynccontextmanager
async def _governed(
    opening: AbstractAsyncContextManager[Model], governor: Governor
) -> AsyncIterator[Model]:
    async with opening as model:
        yield GovernedModel(model, governor)


def window_of(name: str) -> int | None:
    """Return how many tokens a model takes; None when the catalogue does not know it."""
    card = known_models().find(name)
    return card.window if card is not None else None


@asynccontextmanager
async def _replay() -> AsyncIterator[Model]:
    yield await sample_model()


@asynccontextmanager
async def _responses(model: str) -> AsyncIterator[Model]:
    name = f"openai/{model}"
    _need("openai", name, "openai")
    from runtime.models.openai_model import (  # noqa: PLC0415 - an extra
        OpenAIModel,
        open_openai_client,
    )

    base_url = variable("OPENAI_BASE_URL")
    key = _openai_key(name, base_url)
    async with open_openai_client(api_key=key, base_url=base_url) as client:
        yield OpenAIModel(model, client, reasoning=_reasons(name), images=_sees(name))


@asynccontextmanager
async def _chat(model: str) -> AsyncIterator[Model]:
    name, base_url = f"openai-chat/{model}", variable("OPENAI_BASE_URL")
    _need("openai", name, "openai")
    from runtime.models.openai_model import (  # noqa: PLC0415 - an extra
        OpenAIModel,
        open_openai_client,
    )

    key, own = _openai_key(name, base_url), base_url is not None
    async with open_openai_client(api_key=key, base_url=base_url) as client:
        yield OpenAIModel(
            model,
            client,
            api="chat",
            provider="openai-chat",
            compatible=own,
            images=_sees(name) and _sees(f"openai/{model}"),
        )


@asynccontextmanager
async def _messages(model: str) -> AsyncIterator[Model]:
    name = f"anthropic/{model}"
    _need("anthropic", name, "anthropic")
    from runtime.models.anthropic_model import (  # noqa: PLC0415 - an extra
        MAX_TOKENS,
        AnthropicModel,
        open_anthropic_client,
    )

    key = _key(name, _KEYS["anthropic"])
    card = known_models().find(name)
    longest = card.max_output if card is not None and card.max_output is not None else MAX_TOKENS
    base_url = variable("ANTHROPIC_BASE_URL")
    async with open_anthropic_client(api_key=key, base_url=base_url) as client:
        limit = min(longest, LONGEST_REPLY)
        yield AnthropicModel(model, client, max_tokens=limit, images=_sees(name))


@asynccontextmanager
async def _demo() -> AsyncIterator[Model]:
    _need("openai", DEMO, DEMO)
    from runtime.models.openai_model import (  # noqa: PLC0415 - an extra
        OpenAIModel,
        open_openai_client,
    )

    address = await demo_address()
    async with open_openai_client(api_key=None, base_url=f"{address}/v1") as client:
        yield OpenAIModel(
            "smollm2", client, api="chat", provider=DEMO, compatible=True, images=False
        )


_KEYS: Final = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
"""Which key the models of a provider are asked with."""
_OPENERS: Final[dict[str, Opener]] = {
    "openai": _responses,
    "openai-chat": _chat,
    "anthropic": _messages,
}


def _need(package: str, name: str, extra: str) -> None:
    if find_spec(package) is None:
        raise ModelExtraError(name, extra)


def _openai_key(name: str, base_url: str | None) -> str | None:
    """Return the key; only a server of one's own needs none."""
    where = _KEYS["openai"]
    return variable(where) if base_url is not None else _key(name, where)


def _key(name: str, where: str) -> str:
    key = variable(where)
    if key is None:
        raise ModelKeyError(name, where)
    return key


def _reasons(name: str) -> bool:
    card = known_models().find(name)
    return card is not None and "reasoning" in card.abilities


def _sees(name: str) -> bool:
    """Return whether the model sees pictures; one that the catalogue does not know is taken to."""
    card = known_models().find(name)
    return card is None or "images" in card.abilities
