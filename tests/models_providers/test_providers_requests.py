"""What is sent: a pure function of what the log shows, in each wire form."""

import itertools
import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.json import JsonObject
from actors.log.projection import (
    AssistantMessage,
    ProjectedCall,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.log.request import request_messages
from actors.ports.model import ModelRequest, ToolSchema
from runtime.models.anthropic_request import messages_body
from runtime.models.openai_chat_request import chat_body
from runtime.models.openai_responses_request import responses_body
from runtime.models.provider_content import (
    arguments_object,
    arguments_text,
    restorer,
    wire_id,
    wire_name,
)
from tests.fake_provider.wire_forms import FORMS, Form

ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/jpeg"}
forms = pytest.mark.parametrize("form", FORMS)


def request(*messages: ProjectedMessage, **more: object) -> ModelRequest:
    return ModelRequest(
        session_id="s-1", turn=1, step=1, model="provider/model-1", messages=messages, **more
    )


def body(form: Form, asked: ModelRequest) -> JsonObject:
    if form == "chat":
        return chat_body(asked, "model-1", compatible=False)
    if form == "responses":
        return responses_body(asked, "model-1", reasoning=False)
    return messages_body(asked, "model-1", max_tokens=8_192)


TALK = (
    SystemMessage(0, "Be brief."),
    UserMessage(1, "What is 2 + 3?"),
    AssistantMessage(
        2,
        [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Let me."}],
        (ProjectedCall("call-1", "add", '{"a": 2}'), ProjectedCall("call-2", "add", "{bro")),
    ),
    ToolResultMessage(3, "call-1", "add", "5"),
    ToolResultMessage(4, "call-2", "add", "no JSON", is_error=True),
    UserMessage(5, [{"type": "text", "text": "And this?"}, IMAGE]),
)  # fmt: skip


def test_chat_completions_takes_the_conversation_as_it_stands() -> None:
    sent = body("chat", request(*TALK, tools=(ADD,)))

    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2 + 3?"},
        {
            "role": "assistant",
            "content": "Let me.",
            "tool_calls": [
                {"id": "call-1", "type": "function",
                 "function": {"name": "add", "arguments": '{"a": 2}'}},
                {"id": "call-2", "type": "function",
                 "function": {"name": "add", "arguments": '{"unreadable_arguments":"{bro"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call-1", "content": "5"},
        {"role": "tool", "tool_call_id": "call-2", "content": "no JSON"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
            ],
        },
    ]  # fmt: skip
    assert sent["tools"][0]["function"]["parameters"] == ADD.parameters
    assert sent["stream_options"] == {"include_usage": True}


def test_responses_takes_items_and_keeps_nothing_at_the_provider() -> None:
    sent = body("responses", request(*TALK, tools=(ADD,)))

    assert [item.get("type", item.get("role")) for item in sent["input"]] == [
        "system", "user", "assistant", "function_call", "function_call",
        "function_call_output", "function_call_output", "user",
    ]  # fmt: skip
    assert sent["input"][3] == {
        "type": "function_call",
        "call_id": "call-1",
        "name": "add",
        "arguments": '{"a": 2}',
    }
    assert sent["store"] is False
    assert "include" not in sent


def test_messages_takes_turns_and_puts_results_right_behind_their_calls() -> None:
    sent = body("messages", request(*TALK, tools=(ADD,)))

    assert sent["system"] == [{"type": "text", "text": "Be brief."}]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Let me."},
        {"type": "tool_use", "id": "call-1", "name": "add", "input": {"a": 2}},
        {"type": "tool_use", "id": "call-2", "name": "add",
         "input": {"unreadable_arguments": "{bro"}},
    ]  # fmt: skip
    assert [block["type"] for block in sent["messages"][2]["content"]] == [
        "tool_result", "tool_result", "text", "image",
    ]  # fmt: skip
    assert sent["messages"][2]["content"][1]["is_error"] is True


def test_a_steer_between_two_results_stands_behind_both() -> None:
    sent = body("messages", request(*TALK[:4], UserMessage(9, "Quick!"), TALK[4]))

    kinds = [block["type"] for block in sent["messages"][-1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


def test_a_later_system_message_stays_where_it_was_said() -> None:
    later = (*TALK, SystemMessage(6, "Be kind.", "developer"), UserMessage(7, "Go on."))

    assert body("chat", request(*later))["messages"][-2] == {
        "role": "system",
        "content": "Be kind.",
    }
    assert body("responses", request(*later))["input"][-2] == {
        "role": "developer",
        "content": "Be kind.",
    }
    blocks = body("messages", request(*later))["messages"][-1]["content"]
    assert [block.get("text") for block in blocks][-2:] == [
        "<system>\nBe kind.\n</system>",
        "Go on.",
    ]


def test_a_history_that_begins_with_a_reply_gets_a_user_first() -> None:
    sent = body("messages", request(SystemMessage(0, "x"), AssistantMessage(1, "Hello.")))

    assert [message["role"] for message in sent["messages"]] == ["user", "assistant"]


@forms
def test_the_wrapped_result_of_a_dsh_log_is_opened(form: Form) -> None:
    wrapped = [
        {"type": "tool-result", "callId": "c", "content": [{"type": "text", "text": "tok63z"}]}
    ]
    call = AssistantMessage(1, [], (ProjectedCall("c", "bash", "{}", inline=True),))
    sent = body(
        form, request(UserMessage(0, "x"), call, ToolResultMessage(2, "c", "bash", wrapped))
    )

    assert b"tok63z" in orjson.dumps(sent)
    assert b"tool-result" not in orjson.dumps(sent)


@forms
def test_blocks_that_no_wire_knows_are_named_and_reasoning_of_others_is_left_out(
    form: Form,
) -> None:
    odd = AssistantMessage(
        1,
        [
            {"type": "reasoning", "text": "secret thought"},
            {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"},
            {"type": "citation", "x": 1},
            {"type": "text", "text": "  "},
            {"type": "text", "text": "Seen."},
        ],
    )
    text = orjson.dumps(body(form, request(UserMessage(0, "x"), odd))).decode()

    assert "[citation]" in text
    assert "Seen." in text
    assert "secret" not in text
    assert "tool-call" not in text


def test_sealed_reasoning_goes_back_to_whom_it_came_from() -> None:
    sealed = {"type": "thinking", "thinking": "Hm.", "id": "rs", "encryptedContent": "e"}
    signed = {"type": "thinking", "thinking": "So.", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "d"}
    asked = request(UserMessage(0, "x"), AssistantMessage(1, [sealed, signed, hidden]))

    items = body("responses", asked)["input"]
    assert [item for item in items if item.get("type") == "reasoning"] == [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}],
         "encrypted_content": "e"}
    ]  # fmt: skip
    assert body("messages", asked)["messages"][1]["content"] == [signed, hidden]
    assert [message["role"] for message in body("chat", asked)["messages"]] == ["user"]


def test_reasoning_that_another_model_signed_is_left_out() -> None:
    def signed(model: str) -> JsonObject:
        return {"type": "thinking", "thinking": "So.", "signature": "s", "model": model}

    asked = request(
        UserMessage(0, "x"), AssistantMessage(1, [signed("model-1"), signed("model-2")])
    )
    (thought,) = body("messages", asked)["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "So.", "signature": "s"}


def test_settings_are_said_in_the_words_of_each_wire() -> None:
    config = {
        "provider": "p", "model": "m", "temperature": 0.5, "maxTokens": 99, "stop": ["X"],
        "reasoningEffort": "max", "seed": 7,
    }  # fmt: skip
    asked = request(UserMessage(0, "x"), config=config)

    chat, responses, messages = (body(form, asked) for form in FORMS)
    assert (chat["max_completion_tokens"], chat["reasoning_effort"], chat["stop"]) == (
        99,
        "xhigh",
        ["X"],
    )
    assert responses["max_output_tokens"] == 99
    assert responses["reasoning"] == {"effort": "xhigh", "summary": "auto"}
    assert responses["include"] == ["reasoning.encrypted_content"]
    assert (messages["max_tokens"], messages["stop_sequences"]) == (99, ["X"])
    assert messages["output_config"] == {"effort": "max"}
    for sent in (chat, responses, messages):
        assert (sent["temperature"], sent["seed"], sent["model"]) == (0.5, 7, "model-1")
        assert "provider" not in sent
    old = chat_body(asked, "model-1", compatible=True)
    assert (old["max_tokens"], "max_completion_tokens" in old) == (99, False)


def test_only_a_turn_is_put_into_the_providers_cache() -> None:
    assert "cache_control" in body("messages", request(UserMessage(0, "x")))
    assert "cache_control" not in body("messages", request(UserMessage(0, "x"), purpose="summary"))


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("", {}),
        ("  ", {}),
        (None, {}),
        ('{"a":1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("[1]", {"unreadable_arguments": "[1]"}),
        ('{"a":', {"unreadable_arguments": '{"a":'}),
        (5, {"unreadable_arguments": 5}),
    ],
)
def test_broken_arguments_are_shown_back_and_never_repaired(raw: object, value: object) -> None:
    assert arguments_object(raw) == value
    assert orjson.loads(arguments_text(raw)) == value


def test_readable_arguments_stay_as_they_were_to_the_byte() -> None:
    assert arguments_text('{ "b":1,  "a": 2 }') == '{ "b":1,  "a": 2 }'


@given(st.text(max_size=80))
def test_ids_and_names_fit_every_wire_and_names_come_back(text: str) -> None:
    assert wire_id(text) == wire_id(text)
    for made in (wire_id(text), wire_name(text)):
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", made)
    assert restorer([text])(wire_name(text)) == text
    assert restorer([])("as-it-is") == "as-it-is"


def test_different_ids_and_names_stay_different() -> None:
    assert wire_id("a|1") != wire_id("a/1")
    assert wire_name("fs.read") != wire_name("fs/read")


words = st.text(max_size=12)
blocks = st.lists(
    st.one_of(
        st.builds(lambda t: {"type": "text", "text": t}, words),
        st.builds(lambda t: {"type": "thinking", "thinking": t, "signature": t}, words),
        st.just(IMAGE),
        st.builds(lambda t: {"type": t}, words),
        st.dictionaries(words, st.none() | st.integers() | words, max_size=3),
    ),
    max_size=3,
)
contents = words | blocks


@st.composite
def talks(draw: st.DrawFn) -> tuple[ProjectedMessage, ...]:
    """Histories with any contents, some calls without a result and some results without a call."""
    messages: list[ProjectedMessage] = []
    ids = st.sampled_from(["c1", "c2", "c|3", ""])
    for seq in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["system", "user", "assistant", "result"]))
        content = draw(contents)
        if kind == "system":
            messages.append(
                SystemMessage(seq, content, draw(st.sampled_from(["system", "developer"])))
            )
        elif kind == "user":
            messages.append(UserMessage(seq, content))
        elif kind == "assistant":
            call = ProjectedCall(draw(ids), draw(words), draw(words))
            messages.append(AssistantMessage(seq, content, (call,) * draw(st.integers(0, 1))))
        else:
            messages.append(ToolResultMessage(seq, draw(ids), "x", content))
    return tuple(messages)


@forms
@given(talk=talks())
def test_any_history_makes_a_body_that_can_be_sent_twice_the_same(
    form: Form, talk: tuple[ProjectedMessage, ...]
) -> None:
    asked = request(*request_messages(talk), tools=(ADD,))

    first = orjson.dumps(body(form, asked))
    assert orjson.dumps(body(form, asked)) == first


@given(talk=talks())
def test_any_history_takes_turns_on_the_messages_wire(talk: tuple[ProjectedMessage, ...]) -> None:
    sent = body("messages", request(*request_messages(talk)))["messages"]

    roles = [message["role"] for message in sent]
    assert roles[0] == "user"
    assert all(first != second for first, second in itertools.pairwise(roles))
    assert all(message["content"] for message in sent)


@forms
def test_halves_of_characters_never_reach_the_wire(form: Form) -> None:
    odd = ToolSchema("odd", "half \ud83d", {"type": "object"})
    sent = body(form, request(UserMessage(0, "x \ud83d"), tools=(odd,)))

    assert orjson.dumps(sent).count("\ufffd".encode()) == 2


@forms
def test_a_change_of_tools_is_told_in_words_and_its_blocks_are_not_shown(form: Form) -> None:
    told = [
        {"type": "text", "text": "Your tools have changed. Added: a."},
        {"type": "tool-addition", "toolName": "a"},
        {"type": "tool-removal", "toolName": "b"},
    ]
    sent = body(form, request(UserMessage(0, "hi"), SystemMessage(1, told, "developer")))
    text = orjson.dumps(sent).decode()
    assert "Your tools have changed. Added: a." in text
    assert "tool-addition" not in text
    assert "tool-removal" not in text
