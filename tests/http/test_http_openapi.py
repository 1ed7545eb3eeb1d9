"""The description says what the server does: it is fuzzed by its own description."""

import queue
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from http_client import TOKEN, serving
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import booleans

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.faces.http.description import describe
from runtime.faces.http.table import ENDPOINTS

HEADERS = {"authorization": f"Bearer {TOKEN}", "x-sdk-protocol": "1"}
EXAMPLES = 8
README = Path(__file__).parents[2] / "README.md"


async def test_the_description_is_served_and_names_every_endpoint():
    async with open_engine() as engine, serving(engine) as client:
        served = await client.get("/v1/openapi.json")
        assert served.json == describe(ENDPOINTS)
        assert (await client.get("/v1/openapi.json", authorization=None)).status == 401
    described = {
        (method.upper(), path)
        for path, operations in served.json["paths"].items()
        for method in operations
    }
    listed = {
        (e.method, e.path.replace(":id", "{id}").replace(":digest", "{digest}")) for e in ENDPOINTS
    }
    assert described == listed
    assert len(described) == len(ENDPOINTS)


def test_every_reference_and_every_name_is_meant():
    description = describe(ENDPOINTS)
    schemas = description["components"]["schemas"]
    assert all(reference.rpartition("/")[2] in schemas for reference in references(description))
    operations = [one for path in description["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert {"400", "401", "403", "503"} <= operation["responses"].keys()


def test_the_readme_lists_every_endpoint():
    text = README.read_text()
    for endpoint in ENDPOINTS:
        assert f"| `{endpoint.method} {endpoint.path}` |" in text, endpoint.path


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for held in value.values():
            yield from references(held)
    elif isinstance(value, list):
        for held in value:
            yield from references(held)


@pytest.mark.slow
def test_no_request_gets_an_answer_that_is_not_described():
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.generation import GenerationMode

    with server() as base_url:
        schema = schemathesis.openapi.from_dict(describe(ENDPOINTS))
        found = [one.ok() for one in schema.get_all_operations()]
        operations = [one for one in found if one.path != "/v1/events"]  # its answer has no end
        assert len(operations) == len(ENDPOINTS) - 1
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                fuzz(operation, base_url, mode)


def fuzz(operation, base_url: str, mode) -> None:
    """Send requests to one operation; those that it describes, or those that it does not."""
    import requests
    from schemathesis import checks
    from schemathesis.generation import GenerationMode

    wanted = [
        checks.not_a_server_error,
        *map(
            checks.CHECKS.get_one,
            ("status_code_conformance", "content_type_conformance", "response_schema_conformance"),
        ),
    ]
    if mode is GenerationMode.NEGATIVE:
        wanted.append(checks.CHECKS.get_one("negative_data_rejection"))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode, headers=HEADERS), booleans())
    def one(case, known):
        if known:  # else most requests would find nothing
            name_session(case, base_url, http)
        answer = case.call(base_url=base_url, session=http, timeout=5)
        case.validate_response(answer, checks=wanted)

    with requests.Session() as http:
        one()


def name_session(case, base_url: str, http) -> None:
    """Let a request name a session that there is, with something in it."""
    http.post(f"{base_url}/v1/create", json={"id": "s"}, headers=HEADERS, timeout=5)
    prompt = {"messageId": "m", "content": "tea", "sessionId": "s"}
    http.post(f"{base_url}/v1/prompt", json=prompt, headers=HEADERS, timeout=5)
    if "id" in case.path_parameters:
        case.path_parameters["id"] = "s"
    if isinstance(case.body, dict) and isinstance(case.body.get("sessionId"), str):
        case.body["sessionId"] = "s"


@contextmanager
def server():
    """Serve an engine on a thread of its own, and yield where."""
    told: queue.Queue = queue.Queue()

    async def run() -> None:
        model = ScriptedModel(lambda request: Say("yes"))
        async with open_engine(model=model) as engine, serving(engine) as client:
            told.put(
                (f"http://127.0.0.1:{client.port}", trio.lowlevel.current_trio_token(), client.face)
            )
            await client.face.drain.wait()

    thread = threading.Thread(target=partial(trio.run, run), daemon=True)
    thread.start()
    base_url, token, face = told.get(timeout=10)
    try:
        yield base_url
    finally:
        trio.from_thread.run_sync(face.drain.set, trio_token=token)
        thread.join(timeout=20)
        assert not thread.is_alive()
