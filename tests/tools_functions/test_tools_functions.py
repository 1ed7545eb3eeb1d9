"""A typed function is a tool: declared by its signature, run with checked arguments, still a function."""

import threading
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from actors.errors import ToolError, UsageError
from actors.errors.tool import ToolDefinitionError, ToolParameterError, ToolResultError
from actors.json import JsonValue
from actors.ports.tool import Tool, ToolContext, ToolOutput
from actors.testing.context import RecordedContext
from runtime.tools.functions import FunctionTool, tool
from tests.contracts.tool_contract import ToolContract, WaitingToolContract


class Colour(StrEnum):
    RED = "red"


class Level(Enum):
    LOW = 1


@attrs.frozen
class Forecast:
    city: str
    degrees: tuple[float, ...]
    extra: object = None


@tool(effect="read", timeout_s=5)
async def add(a: int, b: int = 1, *, ctx: ToolContext) -> int:
    """Add two numbers.

    Both may be negative.

    Args:
        a: the first.
        b: the second.
    """
    ctx.progress({"adding": [a, b]})
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@tool
async def wait() -> None:
    """Wait for ever."""
    await trio.sleep_forever()


class TestAnAsyncFunctionKeepsTheContract(ToolContract):
    arguments: JsonValue = {"a": 2}  # noqa: RUF012 - never changed

    @pytest.fixture
    def tool(self) -> Tool:
        return add


class TestAPlainFunctionKeepsTheContract(ToolContract):
    arguments: JsonValue = {"text": "a"}  # noqa: RUF012 - never changed

    @pytest.fixture
    def tool(self) -> Tool:
        return shout


class TestAWaitingFunctionKeepsTheContract(WaitingToolContract):
    @pytest.fixture
    def tool(self) -> Tool:
        return wait


async def called(it: FunctionTool[..., Any], arguments: JsonValue = None) -> ToolOutput:
    return await it.call({} if arguments is None else arguments, RecordedContext().context())


def returning(value: object) -> FunctionTool[..., Any]:
    async def give() -> object:
        return value

    return tool(give)


def test_the_declaration_says_everything_that_a_model_needs() -> None:
    assert (add.schema.name, add.effect, add.timeout_s) == ("add", "read", 5)
    assert add.schema.description == "Add two numbers.\n\nBoth may be negative."
    assert add.schema.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "the first."},
            "b": {"type": "integer", "description": "the second.", "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_what_is_not_said_is_exec_with_a_minute() -> None:
    assert (shout.effect, shout.timeout_s) == ("exec", 60)
    assert tool()(_nothing).schema.name == "_nothing"


async def test_the_tool_is_still_the_function() -> None:
    recorded = RecordedContext()

    assert shout("a") == "A"
    assert await add(2, 3, ctx=recorded.context()) == 5
    assert (add.__name__, add.__doc__.splitlines()[0]) == ("add", "Add two numbers.")


async def test_an_async_function_runs_with_its_arguments_and_its_context() -> None:
    recorded = RecordedContext()
    output = await add.call({"a": 2.0, "b": 5}, recorded.context())

    assert output == ToolOutput(content="7")
    assert recorded.shown == [{"adding": [2, 5]}]


async def test_a_default_stands_in_for_what_the_model_leaves_out() -> None:
    assert (await called(add, {"a": 2})).content == "3"


async def test_arguments_that_do_not_fit_are_told_and_nothing_is_run() -> None:
    ran = []

    @tool
    async def pick(a: int, b: list[str]) -> None:
        ran.append((a, b))

    output = await called(pick, {"a": "1", "b": ["x", 2], "c": None})

    assert ran == []
    assert (output.is_error, output.code) == (True, "TOOL_INVALID_ARGS")
    assert output.content == (
        "TOOL_INVALID_ARGS: pick was not run; correct its arguments:\n"
        '- a: must be an integer, not "1"\n'
        "- b[1]: must be text, not 2\n"
        "- c: is unknown"
    )


async def test_only_the_first_five_problems_are_told_and_the_others_counted() -> None:
    output = await called(shout, {f"p{n}": n for n in range(9)})

    assert isinstance(output.content, str)
    assert len(output.content.splitlines()) == 1 + 5 + 1
    assert output.content.endswith("- and 5 more")
    assert output.meta == {
        "problems": [
            "text: is missing",
            "p0: is unknown",
            "p1: is unknown",
            "p2: is unknown",
            "p3: is unknown",
        ]
    }


async def test_a_plain_function_runs_in_a_thread_and_reaches_the_loop_through_its_context() -> None:
    @tool
    def where(ctx: ToolContext) -> bool:
        ctx.progress("in a thread")
        ctx.progress(trio.from_thread.run(ctx.ask, "may I?"))
        return threading.current_thread() is threading.main_thread()

    recorded = RecordedContext([True])

    assert (await where.call({}, recorded.context())).content == "false"
    assert recorded.shown == ["in a thread", True]
    assert recorded.questions == ["may I?"]


async def test_progress_from_a_thread_arrives_in_the_thread_of_the_loop() -> None:
    arrived_in = []

    def progress(_: JsonValue) -> None:
        arrived_in.append(threading.current_thread())

    @tool
    def work(ctx: ToolContext) -> None:
        ctx.progress(1)

    await work.call({}, attrs.evolve(RecordedContext().context(), progress=progress))

    assert arrived_in == [threading.current_thread()]


async def test_a_cancelled_thread_is_waited_for_and_never_abandoned() -> None:
    started, let_go, order = trio.Event(), threading.Event(), []

    @tool
    def slow() -> None:
        trio.from_thread.run_sync(started.set)
        let_go.wait(30)
        order.append("thread ended")

    async def release() -> None:
        await trio.testing.wait_all_tasks_blocked()
        order.append("released")
        let_go.set()

    async with trio.open_nursery() as outer:
        async with trio.open_nursery() as inner:
            inner.start_soon(called, slow)
            await started.wait()
            inner.cancel_scope.cancel()
            outer.start_soon(release)
        order.append("call ended")

    assert order == ["released", "thread ended", "call ended"]


async def test_a_thread_may_end_early_when_its_call_is_cancelled() -> None:
    started = trio.Event()

    @tool
    def polite() -> None:
        trio.from_thread.run_sync(started.set)
        while True:
            trio.from_thread.check_cancelled()

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(called, polite)
            await started.wait()
            nursery.cancel_scope.cancel()

    assert nursery.cancel_scope.cancelled_caught


async def test_what_a_function_raises_is_raised() -> None:
    @tool
    async def broken() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await called(broken)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text as it is", "text as it is"),
        ("", ""),
        ("half \ud800", "half \ud800"),
        (Colour.RED, "red"),
        (None, "ok"),
        (True, "true"),
        (7, "7"),
        (2**63, "9223372036854775808"),
        (0.5, "0.5"),
        (Level.LOW, "1"),
        ([1, "a", None], '[1,"a",null]'),
        ((1, (2,)), "[1,[2]]"),
        ({"a": {"b": Level.LOW, "ü": [Colour.RED]}}, '{"a":{"b":1,"ü":["red"]}}'),
        (Forecast("Ulm", (1.5,)), '{"city":"Ulm","degrees":[1.5],"extra":null}'),
        (
            [Forecast("Ulm", (), Forecast("Bonn", (2,)))],
            '[{"city":"Ulm","degrees":[],"extra":{"city":"Bonn","degrees":[2],"extra":null}}]',
        ),
    ],
)
async def test_what_is_returned_becomes_text(value: object, text: str) -> None:
    assert await called(returning(value)) == ToolOutput(content=text)


async def test_output_that_a_function_makes_itself_is_passed_on() -> None:
    made = ToolOutput(content=[{"type": "text", "text": "a"}], meta={"n": 1}, terminate=True)

    assert await called(returning(made)) is made


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def circle() -> list[Any]:
    round_: list[Any] = []
    round_.append(round_)
    return round_


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "result object is not a JSON type"),
        ({1, 2}, "result set is not a JSON type"),
        (b"raw", "result bytes is not a JSON type"),
        ({"a": [1, float("nan")]}, r"result\.a\[1\] is nan"),
        (float("-inf"), "result is -inf"),
        ({1: "a"}, "result has the key 1, which is no JSON text"),
        ([2**64], r"result\[0\] is an integer of more than 64 bits"),
        (Forecast("Ulm", (), b""), r"result\.extra bytes"),
        (["\ud800"], r"result\[0\] an unpaired surrogate"),
        ({"\ud800": 1}, r"result has the key '\\ud800', which is no JSON text"),
        (circle(), "result contains itself, or is too deep"),
        (deep(300), "result contains itself, or is too deep"),
    ],
)
async def test_what_is_no_json_is_the_authors_mistake(value: object, why: str) -> None:
    with pytest.raises(ToolResultError, match=why) as raised:
        await called(returning(value))

    assert raised.value.code == "TOOL_RESULT_INVALID"
    assert isinstance(raised.value, ToolError)


@pytest.mark.parametrize(
    ("asked_s", "budget_s"), [(0.001, 0.1), (0.1, 0.1), (0.5, 0.5), (3600, 3600), (None, None)]
)
def test_a_budget_is_raised_to_a_tenth_of_a_second(
    asked_s: float | None, budget_s: float | None
) -> None:
    assert tool(timeout_s=asked_s)(_nothing).timeout_s == budget_s


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_no_time_is_refused(timeout_s: float) -> None:
    with pytest.raises(ToolDefinitionError, match="is no positive number of seconds"):
        tool(timeout_s=timeout_s)(_nothing)


@pytest.mark.parametrize("name", ["two words", "a" * 65, "ä", "a.b", "line\n"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match="its name must be"):
        tool(name=name)(_nothing)


def test_a_tool_may_have_another_name_than_its_function() -> None:
    renamed = tool(name="look-up")(_nothing)

    assert renamed.schema.name == "look-up"
    assert repr(renamed) == "<tool look-up (exec)>"


def test_an_unknown_effect_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="effect='reads' is not read, write or exec"):
        tool(effect="reads")(_nothing)  # type: ignore[arg-type]  # that is the point


def _nothing() -> None: ...


def _unannotated(a) -> None: ...


def _bytes(a: int, b: bytes) -> None: ...


def _unknown(b: "Nowhere") -> None: ...  # noqa: F821 - that is the point


def _many(*rest: int) -> None: ...


def _any_name(**rest: int) -> None: ...


def _by_place(a: int, /) -> None: ...


class Desk:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> int:
        """Write it down."""
        self.notes.append(text)
        return len(self.notes)


@pytest.mark.parametrize(
    ("function", "parameter", "why"),
    [
        (_unannotated, "a", "has no annotation"),
        (_bytes, "b", "is annotated with <class 'bytes'>, which has no JSON schema"),
        (_unknown, "b", "cannot be resolved: name 'Nowhere' is not defined"),
        (_many, "rest", "cannot be given by name"),
        (_any_name, "rest", "cannot be given by name"),
        (_by_place, "a", "cannot be given by name"),
        (Desk.note, "self", "has no annotation"),
    ],
)
def test_a_parameter_that_no_model_can_fill_is_refused_by_name(
    function: Callable[..., Any], parameter: str, why: str
) -> None:
    with pytest.raises(ToolParameterError) as raised:
        tool(function)

    assert raised.value.parameter == parameter
    assert isinstance(raised.value, UsageError)
    text = str(raised.value)
    assert text.startswith(f"{function.__name__} cannot be a tool: its parameter {parameter!r} ")
    assert why in text


def test_a_generator_is_refused() -> None:
    def one_by_one() -> Any:
        yield 1

    async def later() -> Any:
        yield 1

    for function in (one_by_one, later):
        with pytest.raises(ToolDefinitionError, match="it yields"):
            tool(function)


async def test_a_bound_method_can_be_a_tool() -> None:
    desk = Desk()
    note = tool(effect="write")(desk.note)

    assert (await called(note, {"text": "milk"})).content == "1"
    assert desk.notes == ["milk"]
    assert note.schema.description == "Write it down."
