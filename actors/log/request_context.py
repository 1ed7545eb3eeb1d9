"""Facts about the route of a request that take no part in the request itself.

Shape: ``{"provider", "model", "contextWindow"?, "systemPromptUpdate"?: "in-history"}``.

Source: D-105..D-107, K-11.
"""

from typing import Literal

import attrs

from actors.json import JsonObject, JsonValue


@attrs.frozen
class RequestContext:
    """The route of the next request; what is absent clears what was known before.

    ``system_prompt_update="in-history"``: this route takes the latest system message at any position as
    the system prompt in force.
    """

    provider: str
    model: str
    context_window: int | None = None
    system_prompt_update: Literal["in-history"] | None = None

    def data(self) -> JsonObject:
        """Return the data of the ``request/context`` event."""
        data: JsonObject = {"provider": self.provider, "model": self.model}
        if self.context_window is not None:
            data["contextWindow"] = self.context_window
        if self.system_prompt_update is not None:
            data["systemPromptUpdate"] = self.system_prompt_update
        return data


def context_change(last: JsonValue, context: RequestContext) -> JsonObject | None:
    """Return the data to log behind the header, or None when ``last`` (the last data logged) says the same."""
    data = context.data()
    known = last if isinstance(last, dict) else {}
    keys = ("provider", "model", "contextWindow", "systemPromptUpdate")
    return None if all(known.get(key) == data.get(key) for key in keys) else data
