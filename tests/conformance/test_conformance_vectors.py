"""Every vector is answered as its reference answers it, or as the rule that overrules the reference says."""

import pytest

from tests.conformance import harness
from tests.conformance.overruled import OVERRULED


def test_vectors_are_answered_as_the_rules_say(vectors, adapters, strict, report):
    outcomes = [harness.run_vector(vector, adapters, OVERRULED) for vector in vectors]
    for outcome in outcomes:
        report(outcome)
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert not failed, "\n".join(f"{o.id} {o.rule or ''} {o.detail}" for o in failed)
    missing = [outcome for outcome in outcomes if outcome.rule == harness.NO_ADAPTER]
    if missing and strict:
        pytest.fail(f"no adapter answers {missing[0].op}")


def test_every_module_of_adapters_loads(loaded):
    assert loaded[1] == {}
