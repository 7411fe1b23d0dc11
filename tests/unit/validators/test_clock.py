from __future__ import annotations

import os

import pytest
from llmbench_validators import clock
from llmbench_validators.clock import Clock


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr("llmbench_validators.clock.time.monotonic", made)
    monkeypatch.setattr(clock, "processor_time", lambda _pid: 0.0)
    monkeypatch.setattr(clock, "queue_time", lambda _pid: 0.0)
    return made


def waited(stage: Clock, time: Time, seconds: float) -> float:
    """What of ``seconds`` passed until the stage was over, looked at every time it asks for it."""
    start = time.now
    stage.resume()
    while time.now - start < seconds and not stage.over():
        time.now += stage.patience()
    return time.now - start


def test_a_process_that_sleeps_is_over_after_its_time(time: Time) -> None:
    assert waited(Clock(os.getpid, 8, fresh=False), time, 100) == pytest.approx(8, abs=1)


def test_a_machine_that_was_stopped_uses_up_nobodys_time(time: Time) -> None:
    stage = Clock(os.getpid, 8, fresh=False)
    assert waited(stage, time, 2) == 2
    time.now += 1000

    assert not stage.over()
    assert waited(stage, time, 3) == 3


def test_time_before_the_process_exists_counts_for_nothing(time: Time) -> None:
    def slow() -> int:
        time.now += 1000
        return os.getpid()

    stage = Clock(slow, 8, fresh=True)
    stage.resume()
    time.now += stage.patience()

    assert not stage.over()


def test_time_between_two_waits_is_not_the_processs(time: Time) -> None:
    stage = Clock(os.getpid, 8, fresh=False)
    for _ in range(100):
        time.now += 1000
        stage.resume()
        time.now += 0.01
        stage.pause()

    stage.resume()
    assert not stage.over()


def test_waiting_for_a_processor_does_not_count(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "queue_time", lambda _pid: time.now * 0.75)

    assert waited(Clock(os.getpid, 8, fresh=False), time, 1000) == pytest.approx(32, abs=1)


def test_a_process_that_never_gets_a_processor_is_over_at_last(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "queue_time", lambda _pid: time.now)

    assert waited(Clock(os.getpid, 8, fresh=False), time, 1000) == pytest.approx(8 * clock.STRETCH, abs=1)


def test_processor_time_counts_even_where_nobody_waited(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Clock(os.getpid, 8, fresh=True)
    monkeypatch.setattr(clock, "processor_time", lambda _pid: 9.0)
    stage.resume()
    time.now += stage.patience()

    assert stage.over()


def test_the_times_of_a_process_are_told_and_those_of_none_are_zero() -> None:
    assert clock.processor_time(os.getpid()) > 0
    assert (clock.processor_time(1 << 22), clock.queue_time(1 << 22), clock.is_leaving(1 << 22)) == (0, 0, False)
    assert not clock.is_leaving(os.getpid())
