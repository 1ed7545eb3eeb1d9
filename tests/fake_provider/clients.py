"""The adapters through their real SDKs: on a server, or on bytes that are handed in."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from actors.ports.model import Model, ModelRequest
from tests.fake_provider.wire_forms import Form

NEEDS: dict[Form, str] = {"chat": "openai", "responses": "openai", "messages": "anthropic"}


def need_sdk(form: Form) -> None:
    """Skip the test when the SDK of a wire form is not installed."""
    pytest.importorskip(NEEDS[form], reason=f"the SDK {NEEDS[form]} is not installed")


@asynccontextmanager
async def served_model(
    form: Form, url: str, key: str = "key-1", name: str = "model-1"
) -> AsyncIterator[Model]:
    """Open an adapter on a server."""
    need_sdk(form)
    if form == "messages":
        from runtime.models.anthropic_model import AnthropicModel, open_anthropic_client

        async with open_anthropic_client(api_key=key, base_url=url) as client:
            yield AnthropicModel(name, client)
    else:
        from runtime.models.openai_model import OpenAIModel, open_openai_client

        async with open_openai_client(api_key=key, base_url=f"{url}/v1") as client:
            yield OpenAIModel(name, client, api=form)


def fed_model(form: Form, pieces: Sequence[bytes], *, broken: bool = False) -> Model:
    """Return an adapter whose every answer is these bytes, cut as they are; ``broken`` loses the connection then."""
    need_sdk(form)
    import httpx2

    class Body(httpx2.AsyncByteStream):
        def __init__(self) -> None:
            self._pieces = iter(pieces)

        def __aiter__(self) -> "Body":
            return self

        async def __anext__(self) -> bytes:
            await trio.lowlevel.checkpoint()
            piece = next(self._pieces, None)
            if piece is None:
                if broken:
                    raise httpx2.ReadError("the connection was lost")
                raise StopAsyncIteration
            return piece

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=Body(), request=request)

    client = httpx2.AsyncClient(transport=Transport())
    options = {"api_key": "key-1", "base_url": "http://fed", "max_retries": 0}
    return adapter_on(form, "model-1", client, options)


async def caught_body(form: Form, request: ModelRequest) -> bytes:
    """Return the bytes that an adapter's SDK would send for a request; nothing leaves the process."""
    need_sdk(form)
    import httpx2

    caught: list[bytes] = []

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, sent: httpx2.Request) -> httpx2.Response:
            caught.append(await sent.aread())
            return httpx2.Response(500, request=sent)

    options = {"api_key": "key-1", "base_url": "http://caught", "max_retries": 0}
    model = request.model.partition("/")[2]
    async with httpx2.AsyncClient(transport=Transport()) as client:
        adapter = adapter_on(form, model, client, options)
        async with adapter.stream(request) as parts:
            async for _ in parts:
                pass
    (body,) = caught
    return body


def adapter_on(form: Form, model: str, client: object, options: Mapping[str, object]) -> Model:
    """Return an adapter whose SDK sends by this HTTP client."""
    if form == "messages":
        import anthropic

        from runtime.models.anthropic_model import AnthropicModel

        return AnthropicModel(model, anthropic.AsyncAnthropic(http_client=client, **options))
    import openai

    from runtime.models.openai_model import OpenAIModel

    return OpenAIModel(model, openai.AsyncOpenAI(http_client=client, **options), api=form)
