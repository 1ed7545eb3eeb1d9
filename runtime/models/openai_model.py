"""Models behind OpenAI's two wire forms, by its official SDK: Responses, and Chat Completions of any server.

Importing this module imports the SDK (extra ``openai``), which takes over a second: import it where a model is made.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Literal, TypeAlias, cast

import httpx2
import openai

from actors.json import JsonObject
from actors.ports.model import Failed, ModelRequest, Part
from runtime.models.openai_chat_reading import ChatReader
from runtime.models.openai_chat_request import chat_body
from runtime.models.openai_responses_reading import ResponsesReader
from runtime.models.openai_responses_request import responses_body
from runtime.models.provider_blobs import with_pictures
from runtime.models.provider_content import restorer
from runtime.models.provider_failures import refused, unreachable
from runtime.models.provider_stream import PLAIN, Answer, ProviderStream, Reader, Source

Api: TypeAlias = Literal["responses", "chat"]

CONNECT_S: Final = 10.0
"""How long making a connection may take."""
SILENCE_S: Final = 900.0
"""How long the SDK lets a stream be silent; the engine's own limit is shorter."""
NO_KEY: Final = "none"
"""The key for servers that want none; the SDK refuses an empty one."""

_PATHS: Final[dict[Api, str]] = {"responses": "/responses", "chat": "/chat/completions"}
_ERRORS: Final = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError)


class OpenAIModel:
    """A :class:`~actors.ports.model.Model` behind an OpenAI client, which stays the caller's.

    Args:
        model: the provider's name of the model.
        client: the SDK's client; its own retries must be off.
        api: the wire form.
        provider: the name in the log.
        compatible: another server than OpenAI's, which may know the older words only.
        reasoning: the model reasons, so its sealed reasoning is asked for and sent back.
        images: the model sees pictures; else it is told that they were left out.
    """

    def __init__(  # noqa: PLR0913 - one keyword each for what is known of the model
        self,
        model: str,
        client: openai.AsyncOpenAI,
        *,
        api: Api = "responses",
        provider: str = "openai",
        compatible: bool = False,
        reasoning: bool = False,
        images: bool = True,
    ) -> None:
        self._model, self._client, self._api, self._provider = model, client, api, provider
        self._compatible, self._reasoning, self._images = compatible, reasoning, images

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        return f"{self._provider}/{self._model}"

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open one stream; see the port."""

        async def open_answer() -> Answer:
            stream = await self._client.post(
                _PATHS[self._api],
                body=self.body(await with_pictures(request, seen=self._images)),
                cast_to=object,
                options={"headers": PLAIN},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            return cast("Answer", stream.response)

        return ProviderStream(Source(open_answer, _ERRORS, explain), self._reader(request))

    def body(self, request: ModelRequest) -> JsonObject:
        """Return what is sent: a pure function of the request, with its pictures as data (P1)."""
        if self._api == "chat":
            return chat_body(request, self._model, compatible=self._compatible)
        return responses_body(request, self._model, reasoning=self._reasoning)

    def _reader(self, request: ModelRequest) -> Reader:
        restore = restorer(schema.name for schema in request.tools)
        return ChatReader(restore) if self._api == "chat" else ResponsesReader(restore)


def explain(error: Exception) -> Failed:
    """Return the last part that an error of the SDK, or of the way to the provider, becomes."""
    if isinstance(error, openai.APIStatusError):
        return refused(error.status_code, error.body, str(error), error.response.headers)
    return unreachable(error)


@asynccontextmanager
async def open_openai_client(
    *, api_key: str | None, base_url: str | None = None
) -> AsyncIterator[openai.AsyncOpenAI]:
    """Open a client whose retries are off: the engine retries by its own rules.

    Cancellation:
        Leaving closes every connection.
    """
    timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
    client = openai.AsyncOpenAI(
        api_key=api_key or NO_KEY, base_url=base_url, max_retries=0, timeout=timeout
    )
    async with client:
        yield client
