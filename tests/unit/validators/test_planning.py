from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import mentions, planning
from llmbench_validators.types import Completion, ValidationSpecError, Verdict

from tests.support.collected import COLLECTED, NOTICE

CASES = COLLECTED / "cases" / "score" / "planning.jsonl"


def rubric(*keywords: str, **more: Any) -> dict[str, Any]:
    return {"type": "planning", "rubric": [{"criterion": "It", "keywords": list(keywords), **more}]}


def grade(spec: dict[str, Any], text: str, prompt: str = "", finish: str | None = "stop") -> Verdict:
    return planning.validate(spec, Completion(text, finish_reason=finish, prompt=prompt))


def affirms(text: str, phrase: str) -> bool:
    return mentions.count(phrase, mentions.sentences(text)).affirmed > 0


MENTIONED = [
    ("Wire up the REST-API/GraphQL gateway.", "api"),
    ("KAFKA carries the events.", "kafka"),
    ("Write smoke tests first.", "test"),
    ("Tune the slow queries.", "query"),
    ("Two buses meet there.", "bus"),
    ("Logging and alerting come next.", "log"),
    ("Caching helps the read path.", "cache"),
    ("A message\nqueue decouples them.", "message queue"),
    ("A message-queue decouples them.", "message queue"),
    ("A **message** queue decouples them.", "message queue"),
    ("Send an email.", "e-mail"),
    ("The core is in C++, the shell in Go.", "c++"),
    ("Port the .NET service.", ".net"),
    ("Reserve 42 hosts.", "42"),
    ("Use a nai\u0308ve baseline.", "na\u00efve"),
    ("DIE STRASSE", "Stra\u00dfe"),
    ("\u6211\u4eec\u7528\u7f13\u5b58\u52a0\u901f", "\u7f13\u5b58"),
    ("Read the user_cache table.", "cache"),
]
NOT_MENTIONED = [
    ("We raise capital rapidly.", "api"),
    ("Guide the suite's users.", "ui"),
    ("Written in C# and C++.", "c"),
    ("It costs 42.5 or 1,042 units.", "42"),
    ("Give it a rating.", "rat"),
    ("Revert to the last release.", "rollback"),
    ("Use the load and the balancer.", "load balancer"),
]
AFFIRMED = [
    ("There is no time for a rewrite, so we put a queue in front.", "queue"),
    ("Not only a queue but also a worker is needed.", "worker"),
    ("Not only a queue is needed.", "queue"),
    ("Never release without a rollback step.", "rollback"),
    ("Do not skip the tests.", "test"),
    ("Without a monolith, add a queue.", "queue"),
    ("Use a queue instead of polling.", "queue"),
    ("**No single point of failure:** run two replicas.", "replica"),
    ("We cannot launch until backups exist.", "backup"),
    ("Pick no-code tools and a queue.", "queue"),
    ("Launch with no downtime and add monitoring.", "monitoring"),
    ("The queue does not need a restart.", "queue"),
    ("No queue yet. Later we add a queue.", "queue"),
]
DENIED = [
    ("No queue is needed here.", "queue"),
    ("We launch without backups.", "backup"),
    ("Avoid microservices.", "microservice"),
    ("Poll the table instead of a queue.", "queue"),
    ("No worker, queue or scheduler is needed.", "queue"),
    ("No worker, queue or scheduler is needed.", "scheduler"),
    ("There is no worker and no queue.", "queue"),
    ("Neither a worker nor a queue is planned.", "queue"),
    ("A queue isn\u2019t necessary.", "queue"),
    ("The queue is out of scope.", "queue"),
    ("Queue: none", "queue"),
    ("Out of scope: a queue", "queue"),
    ("We don't use a queue.", "queue"),
]


@pytest.mark.parametrize(("text", "phrase"), MENTIONED + AFFIRMED)
def test_a_phrase_is_found_whatever_its_form_where_it_is_affirmed(text: str, phrase: str) -> None:
    assert affirms(text, phrase)


@pytest.mark.parametrize(("text", "phrase"), NOT_MENTIONED)
def test_a_phrase_is_not_found_inside_other_words(text: str, phrase: str) -> None:
    assert mentions.count(phrase, mentions.sentences(text)) == mentions.Mentions(0, 0)


@pytest.mark.parametrize(("text", "phrase"), DENIED)
def test_a_mention_in_a_negated_clause_is_denied(text: str, phrase: str) -> None:
    assert mentions.count(phrase, mentions.sentences(text)) == mentions.Mentions(0, 1)


def test_weights_are_shares_of_their_sum() -> None:
    spec = {
        "type": "planning",
        "rubric": [
            {"criterion": "Queue", "keywords": ["queue"], "weight": 3},
            {"criterion": "Backup", "keywords": ["backup"], "weight": 1},
        ],
    }

    verdict = grade(spec, "Put a queue in front.")

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.75, "missed_criteria")
    assert verdict.findings == ("Backup: no mention of backup",)
    assert verdict.confidence == "low"


def test_any_wants_one_keyword_and_all_earns_the_share_that_is_there() -> None:
    text = "Start with the queue."

    assert grade(rubric("queue", "worker"), text).score == 1
    assert grade(rubric("queue", "worker", match="all"), text).score == 0.5
    assert grade(rubric("queue", "worker", match="all"), text + " Then the worker.").passed


def test_repeats_add_nothing() -> None:
    spec = {"type": "planning", "rubric": [{"criterion": c, "keywords": [c]} for c in ("queue", "backup")]}

    assert grade(spec, "A queue.").score == grade(spec, "A queue. A queue. A queue.").score == 0.5


def test_keyword_stuffing_is_flagged() -> None:
    spec = rubric("queue", "worker", match="all")

    verdict = grade(spec, "queue worker queue worker queue worker queue worker")

    assert "little more than keywords" in verdict.findings[-1]
    assert not grade(spec, "First put a queue before the service, then start one worker for each host.").findings


def test_what_only_repeats_the_request_mentions_nothing() -> None:
    prompt = "Describe in five steps how the queue is moved."

    copied = grade(rubric("queue"), f"{prompt}\n\n1. Copy.\n2. Switch.", prompt)
    recounted = grade(rubric("queue"), "You asked for a plan for the queue. I can't help with that.")

    assert (copied.score, copied.failure) == (0, "missed_criteria")
    assert "repeat the request" in copied.findings[-1]
    assert (recounted.score, recounted.failure) == (0, "refusal")


def test_reasoning_is_no_part_of_the_plan() -> None:
    assert not grade(rubric("queue"), "<think>A queue?</think>\n1. Ship it.").passed
    assert grade(rubric("queue"), "<think>A queue").failure == "format"
    assert grade(rubric("queue"), "<think>A queue", finish="length").failure == "budget_exhausted"
    assert grade(rubric("queue"), " \n").failure == "empty"


WRONG = [
    ({"type": "planning"}, "rubric is missing"),
    ({"type": "planning", "rubric": []}, "rubric must be a list with at least one"),
    ({"type": "planning", "rubrics": []}, "unknown key 'rubrics'; valid are type, rubric"),
    (rubric(), "keywords must be a list with at least one"),
    (rubric("a", ""), "keywords holds ''"),
    (rubric("++"), "without a letter or digit"),
    (rubric("a", weight=0), "weight must be a number above 0"),
    (rubric("a", match="some"), "match is 'some'; valid are any, all"),
    (rubric("a", wieght=1), "unknown key 'wieght'; valid are criterion, keywords, weight, match"),
]


@pytest.mark.parametrize(("spec", "message"), WRONG)
def test_a_wrong_block_is_refused_with_the_key_and_what_is_valid(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError) as caught:
        grade(spec, "")

    assert message in str(caught.value)


@given(st.text(), st.text(), st.sampled_from(["stop", "length", None]))
def test_no_text_makes_it_fail(text: str, prompt: str, finish: str | None) -> None:
    verdict = grade(rubric("a", "load balancer", "c++"), text, prompt, finish)

    assert 0 <= verdict.score <= 1
    assert verdict.passed == (verdict.failure is None)


@pytest.mark.parametrize("unit", ["no a,", "load-", "a\u0301\u0316", "\u0f73", "<think></think>\n", "a or b, "])
def test_a_degenerate_answer_of_great_length_is_graded_in_time_that_grows_with_it(unit: str) -> None:
    assert grade(rubric("load balancer", "x"), unit * (200_000 // len(unit))).score == 0


@pytest.mark.skipif(not CASES.exists(), reason=NOTICE)
def test_collected_cases_get_their_verdicts() -> None:
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        verdict = grade(case["validation"], case["completion"])
        if not case["judgement"]:
            wanted = case["expected"]
            assert (verdict.passed, verdict.score) == (wanted["passed"], wanted["score"]), case["id"]
