"""The settings of a request in the words of the log, and what is left for the provider as it is. Pure.

Source: D-92.
"""

from typing import Final

import attrs

from actors.json import JsonObject, JsonValue

_OURS: Final = frozenset(
    ("provider", "model", "temperature", "topP", "maxTokens", "stop", "reasoningEffort")
)
OFF: Final = "off"
"""The reasoning effort that switches reasoning off."""


@attrs.frozen(kw_only=True)
class Settings:
    """What a request's ``config`` says; ``rest`` goes into the body as it is."""

    temperature: JsonValue = None
    top_p: JsonValue = None
    max_tokens: JsonValue = None
    stop: JsonValue = None
    effort: str | None = None
    rest: JsonObject = attrs.field(factory=dict)


def settings(config: JsonObject) -> Settings:
    """Return the settings; a word that is not ours belongs to the provider."""
    effort = config.get("reasoningEffort")
    return Settings(
        temperature=config.get("temperature"),
        top_p=config.get("topP"),
        max_tokens=config.get("maxTokens"),
        stop=config.get("stop") or None,
        effort=effort if isinstance(effort, str) and effort else None,
        rest={word: value for word, value in config.items() if word not in _OURS},
    )


def present(**fields: JsonValue) -> JsonObject:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
