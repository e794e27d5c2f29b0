"""No public callable of flinkish answers a wrong argument with an error from its depths."""

from __future__ import annotations

import traceback
from itertools import groupby

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError
from tests.campaign.wrong_calls import WrongCall, wrong_calls

CALLS = wrong_calls()
BY_NAME = {name: list(calls) for name, calls in groupby(CALLS, lambda call: call.name)}


@pytest.fixture(autouse=True)
def _same_settings_after():
    parallelism = fl.StreamExecutionEnvironment.getDefaultLocalParallelism()
    yield
    fl.StreamExecutionEnvironment.setDefaultLocalParallelism(parallelism)


def failure(call: WrongCall) -> str | None:
    """What is wrong with the error that ``call`` raises; None for nothing."""
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


@pytest.mark.parametrize("name", BY_NAME)
def test_a_wrong_argument_is_named(name):
    assert [text for call in BY_NAME[name] if (text := failure(call)) is not None] == []


def test_the_campaign_is_of_a_thousand_calls_and_of_all_that_is_public():
    assert len(CALLS) >= 1_000
    reached = {name.partition("(")[0].partition(".")[0] for name in BY_NAME}
    for name in (
        "DataStream",
        "KeyedStream",
        "WindowedStream",
        "WatermarkStrategy",
        "atlas",
        "storm",
    ):
        assert name in reached or any(name in part for part in BY_NAME)
