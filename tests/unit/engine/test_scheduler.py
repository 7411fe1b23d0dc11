from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.domain.run import OpenJob
from llmbench_mcp.engine.scheduler import Held, Loaded, next_jobs

NOW = 1_000_000.0


def job(name: str, model: str = "m", device: str = "gpu", **facts: object) -> OpenJob:
    plain = OpenJob(name, "run", device, "ep", model, 0, NOW)
    return replace(plain, **facts)  # type: ignore[arg-type]  # names of fields


def drain(jobs: list[OpenJob]) -> tuple[list[OpenJob], int]:
    """Do all jobs one after the other on their devices; returns them in order and how often a model was loaded."""
    loaded: dict[str, Loaded] = {}
    order, loads, left = [], 0, list(jobs)
    while left:
        for chosen in next_jobs(left, (), loaded, Held(), NOW):
            now_there = (chosen.endpoint_id, chosen.served_name)
            loads += loaded.get(chosen.device) != now_there
            loaded[chosen.device] = now_there
            order.append(chosen)
            left.remove(chosen)
    return order, loads


def test_each_idle_device_gets_one_job_and_busy_ones_none() -> None:
    jobs = [job("a", device="gpu0"), job("b", device="gpu0"), job("c", device="gpu1"), job("d", device="gpu2")]
    assert [j.id for j in next_jobs(jobs, {"gpu2"}, {}, Held(), NOW)] == ["a", "c"]


def test_jobs_in_an_outage_wait() -> None:
    assert [j.id for j in next_jobs([job("a"), job("b")], (), {}, Held({"a"}), NOW)] == ["b"]


def test_a_job_whose_server_failed_lets_the_others_go_first() -> None:
    held = Held(shaky={"a"})
    assert [j.id for j in next_jobs([job("a", priority=9), job("b")], (), {}, held, NOW)] == ["b"]
    assert [j.id for j in next_jobs([job("a")], (), {}, held, NOW)] == ["a"]


def test_a_loaded_model_goes_on_before_another_is_loaded() -> None:
    jobs = [job("a", "x"), job("b", "y")]
    assert [j.id for j in next_jobs(jobs, (), {"gpu": ("ep", "y")}, Held(), NOW)] == ["b"]


def test_higher_priority_wins_over_the_loaded_model() -> None:
    jobs = [job("a", "x", priority=5), job("b", "y")]
    assert [j.id for j in next_jobs(jobs, (), {"gpu": ("ep", "y")}, Held(), NOW)] == ["a"]


def test_a_job_that_waited_long_overtakes_one_of_higher_priority() -> None:
    old = job("old", "x", created_s=NOW - 6 * 3600)
    assert [j.id for j in next_jobs([job("new", "y", priority=5), old], (), {}, Held(), NOW)] == ["old"]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["gpu0", "gpu1"])), max_size=30))
def test_every_job_is_done_once_and_each_model_loaded_once_per_device(asked: list[tuple[str, str]]) -> None:
    jobs = [job(f"j{n}", model, device) for n, (model, device) in enumerate(asked)]
    order, loads = drain(jobs)
    assert sorted(j.id for j in order) == sorted(j.id for j in jobs)
    assert loads == len({(j.device, j.served_name) for j in jobs})


def test_hosted_servers_do_not_wait_for_each_other() -> None:
    jobs = [job("a", device="remote", endpoint_id="x"), job("b", device="remote", endpoint_id="y")]
    assert [j.id for j in next_jobs(jobs, (), {}, Held(), NOW)] == ["a", "b"]


def test_jobs_queued_minutes_later_do_not_bring_a_model_back_a_second_time() -> None:
    first = [job("a1", "a"), job("b1", "b")]
    later = [job("a2", "a", created_s=NOW + 900), job("b2", "b", created_s=NOW + 900)]
    order, loads = drain([*first, *later])
    assert [j.id for j in order] == ["a1", "a2", "b1", "b2"]
    assert loads == 2


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-100, 100), st.floats(0, 1e6)), min_size=1, max_size=20))
def test_no_job_waits_for_ever(asked: list[tuple[str, int, float]]) -> None:
    patient = job("patient", "c", priority=-100, created_s=NOW)
    rivals = [
        job(f"j{n}", model, priority=p, created_s=NOW + 3600.0 * 202 + s) for n, (model, p, s) in enumerate(asked)
    ]
    now = max(rival.created_s for rival in rivals)
    assert next_jobs([*rivals, patient], (), {"gpu": ("ep", "a")}, Held(), now)[0] is patient
