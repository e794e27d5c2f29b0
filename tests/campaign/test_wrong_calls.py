"""No public callable of flinkish answers a wrong argument with an error from its depths."""

from __future__ import annotations

import traceback

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError
from tests.campaign.wrong_calls import WrongCall, wrong_calls


@pytest.fixture(scope="module")
def calls():
    parallelism = fl.StreamExecutionEnvironment.getDefaultLocalParallelism()
    yield wrong_calls()
    fl.StreamExecutionEnvironment.setDefaultLocalParallelism(parallelism)


def failure(call: WrongCall) -> str | None:
    """Describe what is wrong with the error that ``call`` raises; None for nothing."""
    try:
        call.function(*call.arguments)
    except FlinkishError as error:
        return None if str(error) else f"{call}: an error without a word"
    except KeyError:
        return None if call.name == "Row().getField" else f"{call}: a KeyError"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, TypeError) and len(frames) == 1:
            return None  # Python itself says that the arguments are too many or too few
        return (
            f"{call}: {type(error).__name__}: {error} at {frames[-1].filename}:{frames[-1].lineno}"
        )
    return None


def test_a_wrong_argument_is_named(calls):
    assert [text for call in calls if (text := failure(call)) is not None] == []


def test_the_campaign_is_of_a_thousand_calls_and_of_all_that_is_public(calls):
    assert len(calls) >= 1_000
    names = {call.name for call in calls}
    for name in (
        "DataStream",
        "KeyedStream",
        "WindowedStream",
        "WatermarkStrategy",
        "atlas",
        "storm",
    ):
        assert any(name in part for part in names), name
