"""Every formula against scipy or a published table."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from llmbench_mcp.domain.paired import mcnemar_exact, paired_interval, sign_flip_p
from llmbench_mcp.domain.repeats import intervals_over_tasks, mean_over_tasks, pass_at_k, pass_hat_k
from llmbench_mcp.domain.statistics import clustered_interval, student_t95, wilson_interval

rates = st.lists(st.integers(0, 4).map(lambda passed: passed / 4), min_size=1, max_size=40)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_rates_interval_is_scipys_wilson(counts: tuple[int, int]) -> None:
    theirs = stats.binomtest(*counts).proportion_ci(method="wilson")
    assert wilson_interval(*counts) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.integers(1, 500))
def test_the_interval_of_none_begins_at_0_and_that_of_all_ends_at_1(count: int) -> None:
    assert (wilson_interval(0, count)[0], wilson_interval(count, count)[1]) == (0.0, 1.0)


@pytest.mark.parametrize("freedom", [*range(1, 60), 100, 1000])
def test_student_is_scipys(freedom: int) -> None:
    assert student_t95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=2e-4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_scipys_binomial_test(first: int, second: int) -> None:
    theirs = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar_exact(first, second) == pytest.approx(theirs, rel=1e-9)
    assert sign_flip_p([1.0] * first + [-1.0] * second + [0.0]) == mcnemar_exact(first, second)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=8))
def test_the_test_on_rates_is_scipys_exact_permutation_test(sixths: list[int]) -> None:
    theirs = stats.permutation_test(
        (sixths,), sum, permutation_type="samples", n_resamples=math.inf, alternative="two-sided", vectorized=False
    )
    # scipy doubles the smaller tail, which is the same for a symmetric distribution
    assert sign_flip_p([part / 6 for part in sixths]) == pytest.approx(theirs.pvalue, abs=1e-9)


def test_with_many_sizes_of_difference_the_test_is_close_to_the_exact_one() -> None:
    chance = random.Random(6)
    for _ in range(5):
        differences = [chance.uniform(-0.6, 1) for _ in range(14)]
        total = abs(sum(differences))
        flips = itertools.product((1, -1), repeat=14)
        exact = sum(abs(sum(map(lambda s, d: s * d, signs, differences))) >= total - 1e-9 for signs in flips) / 2**14
        assert sign_flip_p(differences) == pytest.approx(exact, abs=0.02)


def table(both: int, first: int, second: int, neither: int) -> tuple[list[float], list[float]]:
    one = [1.0] * (both + first) + [0.0] * (second + neither)
    other = [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither
    return one, other


def interval_of(*counts: int) -> tuple[float, float]:
    one, other = table(*counts)
    ones = [1] * len(one)
    return paired_interval(one, other, (ones, ones))


def test_the_interval_of_a_difference_is_the_published_one() -> None:
    """Complete response before and after consolidation therapy (Cavo et al. 2012), as in Fagerland, Lydersen and Laake,
    Statistical Analysis of Contingency Tables (2017), chapter 8, and their R package contingencytables."""
    assert interval_of(59, 6, 16, 80) == pytest.approx((-0.1186, -0.0046), abs=0.00005)


@pytest.mark.parametrize(("p_both", "p_first", "p_second"), [(0.6, 0.1, 0.1), (0.5, 0.25, 0.05), (0.9, 0.05, 0.0)])
def test_the_interval_of_a_difference_covers_the_truth_as_often_as_it_says(
    p_both: float, p_first: float, p_second: float
) -> None:
    """Weighted over all tables of 20 tasks, no chance involved."""
    p = (p_both, p_first, p_second, 1 - p_both - p_first - p_second)
    truth, covered = p_first - p_second, 0.0
    for both, first, second in itertools.product(range(21), repeat=3):
        if both + first + second > 20:
            continue
        counts = (both, first, second, 20 - both - first - second)
        low, high = interval_of(*counts)
        if low <= truth <= high:
            covered += float(stats.multinomial.pmf(counts, 20, p))
    assert 0.93 < covered <= 1


@given(rates, st.randoms())
def test_a_difference_turned_round_has_the_interval_turned_round(first: list[float], chance: random.Random) -> None:
    second = chance.sample(first, len(first))
    fours = [4] * len(first)
    low, high = paired_interval(first, second, (fours, fours))
    assert paired_interval(second, first, (fours, fours)) == pytest.approx((-high, -low))
    assert low - 1e-9 <= (sum(first) - sum(second)) / len(first) <= high + 1e-9


def test_identical_results_leave_a_difference_open_all_the_same() -> None:
    low, high = interval_of(20, 0, 0, 20)
    assert low < -0.01
    assert high > 0.01


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_with_one_attempt_per_task_the_clustered_interval_is_wilsons(passed: list[bool]) -> None:
    mine = clustered_interval([float(one) for one in passed], [1] * len(passed))
    assert mine == pytest.approx(wilson_interval(sum(passed), len(passed)))


@given(rates)
def test_repeats_never_claim_more_than_independent_attempts_nor_less_than_tasks(found: list[float]) -> None:
    low, high = clustered_interval(found, [4] * len(found))
    fewest, most = wilson_interval(sum(found), len(found)), wilson_interval(4 * sum(found), 4 * len(found))
    assert fewest[0] - 1e-9 <= low <= most[0] + 1e-9
    assert most[1] - 1e-9 <= high <= fewest[1] + 1e-9


def test_repeats_of_the_same_answer_add_nothing() -> None:
    found = [1.0] * 6 + [0.0] * 4
    assert clustered_interval(found, [50] * 10) == pytest.approx(wilson_interval(6, 10))


def test_few_tasks_alike_by_luck_do_not_count_as_more_than_they_are() -> None:
    assert clustered_interval([2 / 3] * 2, [3] * 2) == pytest.approx(wilson_interval(4 / 3, 2))
    effective = 5 * 3 * (1.959964 / 2.776445) ** 2  # of all 15 attempts, by Student's t of 4 degrees of freedom
    assert clustered_interval([2 / 3] * 5, [3] * 5) == pytest.approx(wilson_interval(effective * 2 / 3, effective))


@pytest.mark.parametrize("clusters", [3, 4])
def test_the_clustered_interval_covers_the_truth_for_few_tasks_as_well(clusters: int) -> None:
    chance = random.Random(2)
    covered = 0
    for _ in range(1000):
        tasks = [chance.betavariate(0.2, 0.2) for _ in range(clusters)]
        low, high = clustered_interval([sum(chance.random() < p for _ in range(3)) / 3 for p in tasks], [3] * clusters)
        covered += low <= 0.5 <= high
    assert covered / 1000 > 0.93


def test_the_clustered_interval_has_the_clustered_variance() -> None:
    """As wide as Miller's clustered standard error (2024) says, where the sample is large."""
    found = [1.0, 0.75, 0.5, 0.25, 0.0] * 100
    attempts = [[1.0] * round(4 * rate) + [0.0] * (4 - round(4 * rate)) for rate in found]
    mean = sum(found) / len(found)
    within = sum((x - mean) * (y - mean) for task in attempts for x in task for y in task)
    error = math.sqrt(within) / (4 * len(found))
    low, high = clustered_interval(found, [4] * len(found))
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.01)


@pytest.mark.parametrize(("clusters", "chances"), [(30, (0.2, 0.9)), (12, (0.5, 0.8)), (30, (0.0, 1.0, 0.6))])
def test_the_clustered_interval_covers_the_truth_as_often_as_it_says(clusters: int, chances: Sequence[float]) -> None:
    chance = random.Random(1)
    truth, covered = sum(chances) / len(chances), 0
    for _ in range(1000):
        tasks = [chance.choice(chances) for _ in range(clusters)]
        found = [sum(chance.random() < p for _ in range(5)) / 5 for p in tasks]
        low, high = clustered_interval(found, [5] * clusters)
        covered += low <= truth <= high
    assert covered / 1000 > 0.93


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_any_and_all_of_k_are_scipys_hypergeometric(counts: tuple[int, int, int]) -> None:
    attempts, passed, k = counts
    drawn = stats.hypergeom(attempts, passed, k)
    assert pass_at_k(attempts, passed, k) == pytest.approx(1 - drawn.pmf(0), abs=1e-9)
    assert pass_hat_k(attempts, passed, k) == pytest.approx(drawn.pmf(k), abs=1e-9)


def test_any_of_one_is_all_of_one_is_the_pass_rate() -> None:
    assert mean_over_tasks([(4, 1), (4, 4), (2, 0)], 1) == pytest.approx((1.25 / 3, 1.25 / 3))


def test_intervals_of_any_and_all_count_a_task_once_however_often_it_was_tried() -> None:
    few, many = [(5, 5)] * 6 + [(5, 0)] * 4, [(50, 50)] * 6 + [(50, 0)] * 4
    any_right, all_right = intervals_over_tasks(few, 5)
    assert any_right == pytest.approx(wilson_interval(6, 10))
    assert any_right == all_right == intervals_over_tasks(many, 5)[0]
    fair = [(5, 1)] * 10
    assert intervals_over_tasks(fair, 5) == (wilson_interval(10, 10), wilson_interval(0, 10))


def test_no_tasks_leave_everything_open() -> None:
    assert clustered_interval([], []) == (0.0, 1.0)
    assert paired_interval([], [], ([], [])) == (-1.0, 1.0)
    assert sign_flip_p([]) == 1.0
