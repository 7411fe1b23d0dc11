from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.validators.tool_support import AS_JSON, BOOK, GRAZ, graded, in_text, wanted

OPENAI = '{"type": "function", "function": {"name": "book_train", "arguments": "{\\"start\\": \\"Graz\\"}"}}'
TO = "<|channel|>commentary to=functions.book_train"
FORMS = {
    "tool_call": [
        f"<tool_call>\n{AS_JSON}\n</tool_call>",
        f"I book it.\n<tool_call>{AS_JSON}",
        f"<tool_call>\n```json\n{AS_JSON}\n```\n</tool_call>",
        f"<|tool_call|>[{AS_JSON}]<|/tool_call|>",
        "<tool_call>{'name': 'book_train', 'arguments': {'start': 'Graz', }}</tool_call>",
        "<tool_call>book_train\n<arg_key>start</arg_key>\n<arg_value>Graz</arg_value>\n</tool_call>",
        f'<think>{{"name": "fly", "arguments": {{}}}} or not</think><tool_call>{AS_JSON}</tool_call>',
    ],
    "tool_calls": [f"<tool_calls>\n[{AS_JSON}]\n</tool_calls>"],
    "function_calls": ["<function_calls>\nbook_train(start='Graz')\n</function_calls>"],
    "function": [
        f"<function=book_train>{GRAZ}</function>",
        "<tool_call>\n<function=book_train>\n<parameter=start>\nGraz\n</parameter>\n</function>\n</tool_call>",
    ],
    "invoke": ['<function_calls>\n<invoke name="book_train">\n<parameter name="start">Graz</parameter>\n</invoke>'],
    "python_tag": [
        '<|python_tag|>book_train(start="Graz")<|eom_id|>',
        f'<|python_tag|>{{"name": "book_train", "parameters": {GRAZ}}}<|eom_id|>',
    ],
    "tool_call_start": ["<|tool_call_start|>[book_train(start='Graz')]<|tool_call_end|>"],
    "mistral": [
        f"[TOOL_CALLS] [{AS_JSON}]",
        f"[TOOL_CALLS]book_train{GRAZ}</s>",
        f"[TOOL_CALLS]book_train[CALL_ID]a1B2[ARGS]{GRAZ}",
    ],
    "deepseek": [
        f"<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>book_train\n```json\n{GRAZ}\n```<\uff5ctool\u2581call\u2581end\uff5c>",
        f"<\uff5ctool\u2581call\u2581begin\uff5c>book_train<\uff5ctool\u2581sep\uff5c>{GRAZ}<\uff5ctool\u2581call\u2581end\uff5c>",
    ],
    "kimi": [f"<|tool_call_begin|>functions.book_train:0<|tool_call_argument_begin|>{GRAZ}<|tool_call_end|>"],
    "command_r": [
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "book_train", "parameters": {GRAZ}}}]<|END_ACTION|>'
    ],
    "harmony": [
        f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{TO} <|constrain|>json<|message|>{GRAZ}<|call|>",
        f"<|start|>assistant to=functions.book_train<|channel|>commentary json<|message|>{GRAZ}<|call|>",
    ],
    "react": [f"Thought: book it\nAction: book_train\nAction Input: {GRAZ}", f">>>book_train\n{GRAZ}"],
    "json": [
        f"```json\n{AS_JSON}\n```",
        f"I call {AS_JSON} now.",
        f"{AS_JSON}<|eot_id|>",
        f"functools[{AS_JSON}]",
        OPENAI,
        f'{{"tool_calls": [{OPENAI}]}}',
        f'{{"type": "function", "function": "book_train", "parameters": {GRAZ}}}',
        f"So far {{so}} good [1]: {AS_JSON}",
    ],
    "python": [
        "[book_train(start='Graz')]",
        f"functions.book_train({GRAZ})",
        'book_train(start="Graz", quiet=null)',
    ],
    "python_fence": [
        "```tool_code\nprint(default_api.book_train(start='Graz'))\n```",
        "Here:\n```python\nbook_train(start='Graz')\n```",
    ],
    "python_line": ["I will book it.\n\nbook_train(start='Graz')", "Now:\n[book_train(start='Graz')]\nDone."],
}
EVERY = [text for texts in FORMS.values() for text in texts]


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in FORMS.items() for text in texts])
def test_a_call_is_found_in_every_family_s_form(form: str, text: str) -> None:
    verdict = in_text(text)
    assert (verdict.passed, verdict.extractor, verdict.confidence) == (True, form, "high"), verdict.findings
    assert verdict.findings == (f"The calls stand in the text ({form}); the server returned none",)


@pytest.mark.parametrize("text", EVERY)
def test_the_same_text_fails_where_no_call_may_be_made(text: str) -> None:
    assert graded([], text=text).failure == "unexpected_call"


@pytest.mark.parametrize("text", EVERY)
def test_the_same_text_is_no_call_where_native_ones_were_possible(text: str) -> None:
    verdict = in_text(text, calls="native")
    assert (verdict.failure, verdict.score) == ("call_in_text", 0.0)
    assert "would have been right" in verdict.findings[0]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "book_train", "arguments": {"start": "Graz"}</tool_call>',
        '<tool_call>{"name": "book_train", "arguments": "Graz"}</tool_call>',
        '<tool_call>{"start": "Graz"}</tool_call>',
        "<tool_call>book_train(start='Graz'</tool_call>",
        f"[{AS_JSON}",
        f'{{"tool_calls": [{AS_JSON}',
        f"[{AS_JSON}, 7]",
        f"{AS_JSON}}}",
        f"<tool_call>{AS_JSON}}}</tool_call>",
        f"[TOOL_CALLS]book_train{GRAZ}}}",
        "<function=book_train>\n<parameter=start>\nGraz\n</parameter>\n",
        "<function=book_train>\n<parameter=start>\nGraz\n</function>",
        "<tool_call>book_train\n<arg_key>start</arg_key>\n<arg_value>Graz",
        f"[TOOL_CALLS]book_train{GRAZ[:-1]}",
        "book_train('Graz')",
        "book_train(start=Graz)",
        "book_train(start='Graz', start='Linz')",
        "book_train(start=f'{1}')",
        "book_train(**{'start': 'Graz'})",
        "book_train(start=b'Graz')",
        "[book_train(start='Graz')",
        "```python\nbook_train(start='Graz'\n```",
        f"<tool_call>{'[' * 5000}</tool_call>",
        f"book_train(start={'-' * 5000}1)",
    ],
)
def test_a_call_that_does_not_parse_is_never_mended(text: str) -> None:
    verdict = in_text(text)
    assert (verdict.failure, verdict.score) == ("malformed_call", 0.0), verdict.findings


@pytest.mark.parametrize(
    "text",
    [
        "book_train(start='Graz') is what I would call.",
        "The signature:\nbook_train(start)\n",
        "Calls look like <tool_call>, I hear.",
        '{"name": "Eva", "age": 7}',
        "See [the list](https://example.org) and [1].",
        '{"name": "book_train", "description": "…", "parameters": {"type": "object", "properties": {"start": {}}}}',
        "```python\nimport trains\nbook_train(start='Graz')\n```",
        "```python\nticket = book_train(start='Graz')\n```",
        "sqrt(16)",
        "[TOOL_CALLS] []",
        "<think>book_train(start='Graz')</think>None needed.",
    ],
)
def test_talk_about_calls_is_no_call(text: str) -> None:
    assert graded([], text=text).passed
    assert in_text(text).failure == "no_call"


def test_native_calls_win_over_the_text() -> None:
    assert graded([BOOK], [{"name": "book_train", "arguments": GRAZ}], text=AS_JSON.replace("Graz", "Linz")).passed
    assert not graded([BOOK], [{"name": "book_train", "arguments": "{}"}], text=AS_JSON).passed


def test_several_calls_keep_their_order() -> None:
    calls = [BOOK, wanted("notes.add", text="a (b]")]
    note = '{"name": "notes.add", "arguments": {"text": "a (b]"}}'
    for text in (
        f"<tool_call>{AS_JSON}</tool_call>\n<tool_call>{note}</tool_call>",
        f"<tool_call>{AS_JSON}\n{note}</tool_call>",
        f"<|python_tag|>{AS_JSON}; {note}",
        f"[{AS_JSON}, {note}]",
        "book_train(start='Graz')\nnotes.add(text='a (b]')",
        "[book_train(start='Graz'), notes.add(text='a (b]')]",
        "First\nbook_train(start='Graz')\nthen\nnotes.add(text='a (b]')",
        f'[TOOL_CALLS]book_train{GRAZ}[TOOL_CALLS]notes.add{{"text": "a (b]"}}',
    ):
        assert graded(calls, text=text, order="strict").passed, text
        assert graded(calls[::-1], text=text, order="strict").failure == "wrong_call", text


def test_xml_parameters_take_the_types_of_the_schema() -> None:
    text = "<function=book_train><parameter=start>7</parameter><parameter=seats>7</parameter>"
    text += "<parameter=quiet>True</parameter><parameter=stops>['A']</parameter>"
    text += "<parameter=class>null</parameter></function>"
    assert graded([wanted("book_train", start="7", seats=7, quiet=True, stops=["A"])], text=text).passed
    assert not graded([wanted("book_train", start=7, seats=7, quiet=True, stops=["A"])], text=text).passed


def test_a_number_in_quotes_stays_text_in_json() -> None:
    text = '{"name": "book_train", "arguments": {"start": "Graz", "seats": "2"}}'
    assert graded([wanted("book_train", start="Graz", seats=2)], text=text).failure == "wrong_call"


_PIECES = [AS_JSON, AS_JSON[:-9], GRAZ, "book_train(", "start='Graz'", ")", "```", "```python\n", "<think>", "</think>"]
_PIECES += [
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=book_train>",
    "<parameter=start>",
]
_PIECES += [
    "</parameter>",
    "</function>",
    "<|channel|>",
    "to=functions.f {",
    "<arg_key>",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\\",
]
_PIECES += [
    "\n",
    " ",
    ",",
    "\x00",
    "\ud800",
    "lambda: 0",
    "Action: f",
    "<\uff5ctool\u2581call\u2581begin\uff5c>",
    "[{'name':",
    "-",
    "9" * 5000,
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)))
def test_any_text_gets_a_verdict_and_the_same_one_twice(text: str) -> None:
    verdict = in_text(text)
    assert verdict == in_text(text)
    assert verdict.passed == (verdict.score == 1.0) == (verdict.failure is None)
    assert 0 <= verdict.score <= 1
    none = graded([], text=text)
    assert none.passed == (none.extractor is None)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(["name", "arguments", "function"]), _VALUES), max_size=4))
def test_any_native_calls_get_a_verdict(calls: list[dict[str, object]]) -> None:
    verdict = graded([BOOK], calls)
    assert not verdict.passed
    assert 0 <= verdict.score < 1


@pytest.mark.parametrize(
    "unit",
    ["{", '{"a":', "[", "(", "<tool_call>{", "<tool_call>", "f(", "book_train(x=", "```\n", "'", "to=functions.f "],
)
def test_long_nonsense_gets_its_verdict(unit: str) -> None:
    assert not in_text(unit * 30_000).passed
