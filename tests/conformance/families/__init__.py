"""The families of cases, one module each."""

from tests.conformance.cases import Case
from tests.conformance.families.asynchronous import AsyncFamily
from tests.conformance.families.interval_join import IntervalJoinFamily, TwoInputIntervalJoinFamily
from tests.conformance.families.join import WindowJoinFamily
from tests.conformance.families.keyed_process import KeyedProcessFamily
from tests.conformance.families.patterns import PatternFamily
from tests.conformance.families.rolling import RollingFamily, WindowRollingFamily
from tests.conformance.families.two_inputs import TwoInputFamily
from tests.conformance.families.watermarks import WatermarksFamily
from tests.conformance.families.window import WindowFamily
from tests.conformance.family import Family

FAMILIES: tuple[Family, ...] = (
    WindowFamily(),
    WindowJoinFamily(),
    WindowRollingFamily(),
    IntervalJoinFamily(),
    KeyedProcessFamily(),
    RollingFamily(),
    TwoInputFamily(),
    TwoInputIntervalJoinFamily(),
    WatermarksFamily(),
    AsyncFamily(),
    PatternFamily(),
)


def family_of(case: Case) -> Family:
    """The family that knows how to build and drive ``case``."""
    for family in FAMILIES:
        if family.name == case.family and family.covers(case):
            return family
    raise LookupError(f"no family for {case}")
