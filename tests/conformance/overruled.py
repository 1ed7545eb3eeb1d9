"""Where a rule overrules what the reference answered.

Each entry looks at what a vector holds and computes the answer that the rule asks for; ours is compared
with that one. The first entry that applies counts.
"""

from tests.conformance.answers import Overrule

OVERRULED: tuple[Overrule, ...] = ()
