"""The reasoning validator: choices, words, dates, times, tuples, sets and formulas."""

from __future__ import annotations

from .reasoning_support import check, grade


def test_a_letter_counts_where_it_is_chosen() -> None:
    check(
        [
            ("B", "B", True),
            ("B", "(b)", True),
            ("B", "B) eagle", True),
            ("B", "The correct option is (B) because the others cannot fly.", True),
            ("B", "I would choose B.", True),
            ("B", "$\\boxed{\\text{(B)}}$", True),
            ("C", "Option B is not correct. Option C is correct.", True),
            ("B", "Option B is not correct. Option C is correct.", False),
            ("A", "A careful look shows that option C is correct.", False),
            ("D", "Many would say D, but the answer is B.", False),
            ("C", "It is not A. D is too narrow. So the answer is C.", True),
            ("B", "Answer: B or C", False),
            ("A", "The answer is a matter of taste.", False),
            ("A", "Antwort: B", False),
            ("C", "I think it is C.", True),
        ],
        "choice",
    )


def test_an_accepted_wording_stands_for_its_letter() -> None:
    assert grade("B", "Answer: eagle", "choice", accept=["eagle"]).passed
    assert not grade("B", "Answer: frog", "choice", accept=["eagle"]).passed


def test_words_count_whole_and_where_they_are_asserted() -> None:
    check(
        [
            ("Paris", "Paris is the capital of France.", True),
            ("Paris", "The capital is **Paris**.", True),
            ("Paris", "I think it's Paris. The city lies on the Seine.", True),
            ("Paris", "Answer: Paris, France", True),
            ("Paris", "Is it Paris? No, it is Lyon.", False),
            ("Paris", "The capital is not Paris.", False),
            ("Paris", "Unlike Paris, Lyon is the capital.", False),
            ("Paris", "It is Paris or Lyon.", False),
            ("York", "The answer is New York.", False),
            ("man", "The person is a woman.", False),
            ("valid", "The argument is invalid.", False),
            ("valid", "The argument is not valid.", False),
            ("Alice", "It cannot be Alice, so it was Bob.", False),
            ("Bob", "It cannot be Alice, so it was Bob.", True),
            ("Bob", "The answer is Bob, because Alice was away.", True),
            ("Alice", "The answer is Bob, because Alice was away.", False),
            ("Bob", "The answer is Alice. Wait, no: it was Bob.", True),
            ("no", "Yes, there is no counterexample. Answer: yes", False),
            ("no", "No, this is not valid.", True),
            ("yes", "Yes and no", False),
            ("the library", "She left the keys in the library.", True),
            ("seven", "The answer is 7.", True),
            ("Zürich", "Zu\u0308rich", True),
        ],
        "text",
    )


def test_dates_and_times_are_compared_as_such() -> None:
    check(
        [
            ("2024-03-05", "It falls on March 5th, 2024.", True),
            ("2024-03-05", "5 March 2024", True),
            ("2024-03-05", "03/05/2024", True),
            ("2024-03-05", "5.3.2024", True),
            ("2024-03-05", "5 March 2023", False),
            ("2024-03-05", "30 February 2024", False),
            ("5 March", "March 5, 2021", True),
        ],
        "date",
    )
    check(
        [
            ("15:30", "They meet at 3:30 PM.", True),
            ("15:30", "15.30", True),
            ("15:30", "3:30", False),
            ("00:15", "12:15 a.m.", True),
            ("12:00", "at noon", True),
        ],
        "time",
    )


def test_the_parts_of_a_tuple_keep_their_order_and_those_of_a_set_need_not() -> None:
    check(
        [
            ("(3, 1)", "So (x, y) = (3, 1).", True),
            ("(3, 1)", "So (x, y) = (1, 3).", False),
            ("(3, 1)", "x = 3 and y = 1", True),
            ("(1/2, 3)", "\\boxed{\\left(\\frac{1}{2}, 3\\right)}", True),
            ("(1000, 2)", "(1,000, 2)", True),
            ("(3, 1)", "(3, 1, 1)", False),
        ],
        "tuple",
    )
    check(
        [
            ("{1, 2, 3}", "The solutions are 3, 1 and 2.", True),
            ("{1, 2}", "x = 2 or x = 1", True),
            ("{1, 2}", "\\boxed{\\{2, 1\\}}", True),
            ("{1, 2}", "{1, 2, 3}", False),
            ("{1, 2}", "{1}", False),
        ],
        "set",
    )


def test_formulas_are_compared_by_their_spelling() -> None:
    check(
        [
            ("\\frac{\\pi}{2}", "\\boxed{\\dfrac{\\pi}{2}}", True),
            ("2\\sqrt{3}", "The answer is $2\\sqrt3$.", True),
            ("2\\sqrt{3}", "\\boxed{3\\sqrt{2}}", False),
            ("x^2+1", "The answer is $x^2 + 1$.", True),
        ],
        "latex",
    )
