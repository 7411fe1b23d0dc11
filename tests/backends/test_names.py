from __future__ import annotations

import pytest

from llmbench_mcp.backends.names import NameFacts, completed, facts_in, parse_count, quantisation_in
from llmbench_mcp.domain.endpoint import OfferedModel

B = 10**9

NAMES = [
    ("qwen3.6-35b-a3b-6bit-mlx", NameFacts("qwen", 35 * B, 3 * B, "6bit", ("mlx",))),
    ("llama3.1:8b-instruct-q4_K_M", NameFacts("llama", 8 * B, None, "Q4_K_M", ("instruct",))),
    ("Mixtral-8x7B-Instruct-v0.1.Q5_K_M.gguf", NameFacts("mixtral", 46_700_000_000, None, "Q5_K_M", ("instruct",))),
    ("mixtral:8x22b", NameFacts("mixtral", 141 * B)),
    ("gemma-3-27b-it-qat-q4_0", NameFacts("gemma", 27 * B, None, "Q4_0", ("it", "qat"))),
    ("meta-llama/Llama-3.3-70B-Instruct", NameFacts("llama", 70 * B, None, None, ("instruct",))),
    ("gpt-oss-120b-MXFP4", NameFacts("gpt-oss", 120 * B, None, "MXFP4")),
    ("granite-3.1-3b-a800m-instruct", NameFacts("granite", 3 * B, 800_000_000, None, ("instruct",))),
    ("unsloth/Qwen3-235B-A22B-UD-Q2_K_XL", NameFacts("qwen", 235 * B, 22 * B, "Q2_K_XL")),
    ("hf.co/unsloth/Qwen3-8B-GGUF:IQ3_XXS", NameFacts("qwen", 8 * B, None, "IQ3_XXS", ("gguf",))),
    ("SmolLM2-135M-Instruct.Q4_1.gguf", NameFacts("smollm", 135_000_000, None, "Q4_1", ("instruct",))),
    ("tinyllama:1.1b-chat-v1-q4_0", NameFacts("tinyllama", 1_100_000_000, None, "Q4_0", ("chat",))),
    ("kimi-k2-1t", NameFacts("kimi", 1000 * B)),
    (r"C:\models\gemma-3-4b-it-bf16-00001-of-00002.gguf", NameFacts("gemma", 4 * B, None, "BF16", ("it",))),
]

NOTHING = ["", "m", "d:cloud", "my-finetune", "stories15M", "x-16", "a" * 10_000, "日本語", "../../etc/passwd", "-:@_."]


@pytest.mark.parametrize(("name", "facts"), NAMES, ids=[name for name, _ in NAMES])
def test_a_name_says_what_is_written_in_it(name: str, facts: NameFacts) -> None:
    assert facts_in(name) == facts


@pytest.mark.parametrize("name", NOTHING, ids=lambda name: name[:12])
def test_a_name_without_facts_gives_none(name: str) -> None:
    assert facts_in(name) == NameFacts()


@pytest.mark.parametrize(
    "name",
    [
        "Qwen-1_8B-Chat",  # 1.8B
        "Llama-4-Scout-17B-16E-Instruct",  # 17B are active
        "gemma3n:e4b",  # an effective size
        "merge-70b-vs-8b",  # two sizes
        "dolphin-2x7b",  # experts share layers
        "phi-3-mini-4k",  # a context length
        "some-model-1m",  # a context length
        "bge-m3",
    ],
)
def test_a_size_that_may_mean_something_else_is_not_taken(name: str) -> None:
    assert facts_in(name).parameter_count is None


def test_experts_tell_what_a_token_uses() -> None:
    assert facts_in("Llama-4-Maverick-17B-128E").active_parameters == 17 * B


def test_a_context_length_beside_the_size_does_not_hide_it() -> None:
    assert facts_in("Qwen2.5-7B-Instruct-1M").parameter_count == 7 * B


@pytest.mark.parametrize("name", ["DeepSeek-R1-Distill-Qwen-7B", "mistral-vs-llama"])
def test_two_families_in_a_name_are_none(name: str) -> None:
    assert facts_in(name).family is None


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("m-fp16", "F16"),
        ("m:f32", "F32"),
        ("m-4-bit", "4bit"),
        ("m-bnb-4bit", "4bit"),
        ("Qwen2.5-72B-GPTQ-Int4", "GPTQ"),
        ("m-awq", "AWQ"),
        ("m-fp8", "FP8"),
        ("m@q8_0", "Q8_0"),
        ("m-q4_0-and-q8_0", None),
        ("seq4ever", None),
        ("q", None),
    ],
)
def test_quantisations_are_spelt_one_way(name: str, word: str | None) -> None:
    assert quantisation_in(name) == word


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8.0B", 8 * B),
        ("567.75M", 567_750_000),
        ("1.1T", 1100 * B),
        (" 7b ", 7 * B),
        ("22.7K", 22_700),
        ("0B", None),
        ("8x7B", None),
        ("big", None),
        ("", None),
        (None, None),
        (8, None),
    ],
)
def test_a_servers_figure_is_read_as_a_number(text: object, count: int | None) -> None:
    assert parse_count(text) == count


def test_only_what_the_server_left_open_is_guessed_and_it_is_marked() -> None:
    model = OfferedModel("llama3.1:8b-instruct-q4_K_M", parameter_count=8_030_261_248)
    assert completed(model) == OfferedModel(
        "llama3.1:8b-instruct-q4_K_M",
        family="llama",
        parameter_count=8_030_261_248,
        quantisation="Q4_K_M",
        guessed=("family", "quantisation"),
    )
    assert completed(OfferedModel("m")) == OfferedModel("m")
