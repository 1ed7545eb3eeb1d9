"""Known defects of the reference are not matched: our answer differs, and a rule of our own says how."""

import pytest

from tests.conformance import harness
from tests.conformance.overruled import OVERRULED

DEFECTS = "live-defects"


@pytest.fixture
def defects(request, adapters):
    directory = request.config.getoption("--vectors", harness.HERE / "vectors")
    known = [vector for vector in harness.load_directory(directory) if vector.file == DEFECTS]
    if not known:
        pytest.skip("these vectors have no file of defects")
    return [vector for vector in known if vector.op in adapters]


def test_no_known_defect_is_matched(defects, adapters):
    outcomes = [harness.run_vector(vector, adapters, OVERRULED) for vector in defects]
    matched = [o for o in outcomes if o.status != "overruled" or not str(o.rule).startswith("N-")]
    assert matched == []
