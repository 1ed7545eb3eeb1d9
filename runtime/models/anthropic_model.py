"""Models behind Anthropic's Messages, by its official SDK.

Importing this module imports the SDK (extra ``anthropic``), which takes seconds: import it where a model is made.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, cast

import anthropic
import httpx2

from actors.json import JsonObject
from actors.ports.model import Failed, ModelRequest, Part
from runtime.models.anthropic_reading import MessagesReader
from runtime.models.anthropic_request import messages_body
from runtime.models.provider_blobs import with_pictures
from runtime.models.provider_content import restorer
from runtime.models.provider_failures import refused, unreachable
from runtime.models.provider_stream import PLAIN, Answer, ProviderStream, Source

CONNECT_S: Final = 10.0
"""How long making a connection may take."""
SILENCE_S: Final = 900.0
"""How long the SDK lets a stream be silent; the engine's own limit is shorter."""
MAX_TOKENS: Final = 8_192
"""The longest reply where nobody said otherwise; every model of the provider can write as much."""

_PATH: Final = "/v1/messages"
_ERRORS: Final = (anthropic.AnthropicError, httpx2.HTTPError, httpx2.StreamError)


class AnthropicModel:
    """A :class:`~actors.ports.model.Model` behind an Anthropic client, which stays the caller's.

    Args:
        model: the provider's name of the model.
        client: the SDK's client; its own retries must be off.
        max_tokens: the longest reply when the request's config names none.
        provider: the name in the log.
        images: the model sees pictures; else it is told that they were left out.
    """

    def __init__(
        self,
        model: str,
        client: anthropic.AsyncAnthropic,
        *,
        max_tokens: int = MAX_TOKENS,
        provider: str = "anthropic",
        images: bool = True,
    ) -> None:
        self._model, self._client = model, client
        self._max_tokens, self._provider, self._images = max_tokens, provider, images

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        return f"{self._provider}/{self._model}"

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open one stream; see the port."""

        async def open_answer() -> Answer:
            stream = await self._client.post(
                _PATH,
                body=self.body(await with_pictures(request, seen=self._images)),
                cast_to=object,
                options={"headers": PLAIN},
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
            return cast("Answer", stream.response)

        restore = restorer(schema.name for schema in request.tools)
        reader = MessagesReader(restore, self._model)
        return ProviderStream(Source(open_answer, _ERRORS, explain), reader)

    def body(self, request: ModelRequest) -> JsonObject:
        """Return what is sent: a pure function of the request, with its pictures as data (P1)."""
        return messages_body(request, self._model, max_tokens=self._max_tokens)


def explain(error: Exception) -> Failed:
    """Return the last part that an error of the SDK, or of the way to the provider, becomes."""
    if isinstance(error, anthropic.APIStatusError):
        return refused(error.status_code, error.body, str(error), error.response.headers)
    return unreachable(error)


@asynccontextmanager
async def open_anthropic_client(
    *, api_key: str, base_url: str | None = None
) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """Open a client whose retries are off: the engine retries by its own rules.

    Cancellation:
        Leaving closes every connection.
    """
    timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
    client = anthropic.AsyncAnthropic(
        api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout
    )
    async with client:
        yield client
