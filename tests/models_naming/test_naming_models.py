"""Models by their names, and what keeps one from being opened."""

import subprocess
import sys
from pathlib import Path

import pytest

from actors.errors.model import DemoModelError, ModelExtraError, ModelKeyError, ModelNameError
from actors.log.projection import UserMessage
from actors.ports.model import Finished, ModelRequest
from runtime.engine.opening import open_engine
from runtime.models import naming
from runtime.models.naming import open_model, window_of
from tests.contracts.model_contract import parts_of
from tests.fake_provider.answers import streamed
from tests.fake_provider.clients import need_sdk
from tests.fake_provider.server import open_fake_provider
from tests.fake_provider.wire_forms import Told, form_of, frames

ROOT = Path(__file__).parents[2]
REQUEST = ModelRequest(
    session_id="s-1", turn=1, step=1, model="p/m", messages=(UserMessage(0, "hello"),)
)
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.mark.parametrize(
    "name", ["", "gpt-5", "openai", "openai/", "nobody/gpt-5", "/x", "anthropic/"]
)
def test_an_unknown_name_says_which_are_known(name: str) -> None:
    with pytest.raises(ModelNameError, match=r"openai/NAME.*anthropic/NAME.*demo or replay"):
        open_model(name)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("openai-chat/gpt-5", "OPENAI_API_KEY"),
        ("anthropic/claude", "ANTHROPIC_API_KEY"),
    ],
)
@pytest.mark.parametrize("value", [None, "", "  "])
async def test_a_missing_key_names_its_variable(
    name: str, variable: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sdk("messages" if name.startswith("anthropic") else "chat")
    if value is not None:
        monkeypatch.setenv(variable, value)
    with pytest.raises(ModelKeyError, match=variable) as raised:
        async with open_model(name):
            pass
    assert raised.value.code == "MODEL_KEY_MISSING"


@pytest.mark.parametrize(
    ("name", "extra"), [("openai/x", "openai"), ("anthropic/x", "anthropic"), ("demo", "demo")]
)
async def test_a_missing_sdk_says_what_to_install(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "find_spec", lambda _: None)
    with pytest.raises(ModelExtraError, match=rf"pip install 'greenroom\[{extra}\]'"):
        async with open_model(name):
            pass


async def test_a_demo_model_that_does_not_run_says_how_to_start_it() -> None:
    need_sdk("chat")
    with pytest.raises(DemoModelError, match=r"greenroom demo-model"):
        async with open_model("demo"):
            pass


async def test_a_demo_model_whose_server_has_gone_is_told(tmp_path: Path) -> None:
    need_sdk("chat")
    async with open_fake_provider([]) as provider:
        address = provider.url
    (tmp_path / "greenroom/demo-model").mkdir(parents=True)
    (tmp_path / "greenroom/demo-model/address").write_text(address)
    with pytest.raises(DemoModelError, match="does not answer"):
        async with open_model("demo"):
            pass


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("openai/gpt-5", "/v1/responses"),
        ("openai-chat/any", "/v1/chat/completions"),
        ("anthropic/claude-opus-5", "/v1/messages"),
    ],
)
async def test_a_server_of_ones_own_is_asked(
    name: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sdk("messages" if name.startswith("anthropic") else "chat")
    told = Told(text=("Here.",))
    async with open_fake_provider(lambda s: streamed(frames(form_of(s.path), told))) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-9")
        async with open_model(name) as model:
            assert model.name == name
            assert (await parts_of(model, REQUEST))[-1] == Finished("stop")
        async with open_engine(model=name) as engine:
            session = await engine.create()
            assert (await session.run("hello")).text == "Here."

        assert {seen.path for seen in provider.seen} == {path}


async def test_the_samples_answer_in_any_session_and_always_the_same() -> None:
    texts = []
    for _ in range(2):
        async with open_engine(model="replay") as engine:
            session = await engine.create(id="s-1")
            texts.append((await session.run("hello")).text)

    assert texts[0] == texts[1] != ""


def test_the_window_comes_from_the_catalogue() -> None:
    assert window_of("anthropic/claude-haiku-4-5") == 200_000
    assert window_of("scripted/model") is None


def test_importing_the_engine_and_the_names_imports_no_sdk() -> None:
    program = (
        "import sys, runtime, runtime.models.naming, runtime.models.demo_serving;"
        "print({'openai', 'anthropic', 'httpx2', 'pydantic', 'rich', 'click'} & set(sys.modules))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, cwd=ROOT
    )
    assert ended.stdout.strip() == "set()"
