"""What the seed decides about a drive."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.plan import approved, chance, plan


@given(st.integers(), st.integers(1, 50), st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_the_same_seed_gives_the_same_plan(seed: int, sessions: int, lengths: list[int]) -> None:
    made = plan(seed, sessions, lengths)

    assert made == plan(seed, sessions, lengths)
    assert [one.index for one in made] == list(range(sessions))
    assert all(one.recording == one.index % len(lengths) for one in made)


@given(st.integers(), st.integers(1, 100))
def test_an_interrupt_comes_while_the_recording_plays(seed: int, length: int) -> None:
    moments = [one.interrupt_after for one in plan(seed, 200, [length])]

    assert all(moment is None or 1 <= moment <= length for moment in moments)


def test_a_hundred_sessions_see_every_disturbance_and_most_see_none() -> None:
    for seed in range(20):
        made = plan(seed, 100, [30, 40])
        disturbed = Counter(
            interrupted=sum(one.interrupt_after is not None for one in made),
            forked=sum(one.forked for one in made),
            compacted=sum(one.compacted for one in made),
        )

        assert all(0 < count < 35 for count in disturbed.values()), (seed, disturbed)


def test_chance_is_even_and_bounded() -> None:
    drawn = [chance(7, "x", index) for index in range(4000)]

    assert all(0 <= one < 1 for one in drawn)
    assert 0.47 < sum(drawn) / len(drawn) < 0.53


def test_the_policy_approves_most_asks_and_refuses_some() -> None:
    answers = Counter(
        approved(1, f"-{session:05}", ask) for session in range(100) for ask in range(3)
    )

    assert 200 < answers[True] < 295
