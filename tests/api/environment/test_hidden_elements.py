"""``hideElementsInErrors``: errors name the type of an element and show nothing of it."""

from __future__ import annotations

import contextvars

import pytest

from flinkish import StreamExecutionEnvironment
from flinkish.api.errors import (
    JobExecutionError,
    MissingTimestampError,
    UnstableKeyError,
    UserFunctionError,
    hide_elements,
    shown,
)
from flinkish.spark.failures import translated


def hidden(made):
    """The text of the error that ``made()`` gives where elements are hidden."""
    context = contextvars.copy_context()
    context.run(hide_elements, True)
    return str(context.run(made))


@pytest.mark.parametrize(
    "made",
    [
        lambda: shown("secret"),
        lambda: MissingTimestampError("Window", "secret"),
        lambda: UnstableKeyError("secret"),
        lambda: UserFunctionError.of("Map", "secret", ValueError("not secret")),
        lambda: UserFunctionError.of("Map", None, KeyError("secret"), "open()"),
    ],
)
def test_an_error_shows_nothing_of_the_element(made):
    assert "secret" not in hidden(made)
    assert "secret" in str(made())


def test_it_says_the_type_and_the_operator():
    text = hidden(lambda: UserFunctionError.of("my map", "secret", ValueError("secret")))
    assert text == (
        "my map: the user function raised ValueError (its message is hidden) on the element of type"
        " str (hidden)"
    )


def test_what_spark_says_is_hidden_too():
    text = (
        "Malformed records are detected in record parsing: [secret]. Traceback (most recent call"
        ' last):\n  File "job.py", line 1, in f\nValueError: secret'
    )
    for said in (text, "secret"):
        error = translated(RuntimeError(said), elementsHidden=True)
        assert "secret" not in f"{error}{getattr(error, '__notes__', '')}{error.__cause__}"
        assert "secret" in str(translated(RuntimeError(said)))
    assert isinstance(translated(RuntimeError("secret"), elementsHidden=True), JobExecutionError)


def test_a_sinks_error_has_no_cause_to_show():
    error = UserFunctionError.of("my sink", [1], ValueError("secret"))
    error.__cause__ = ValueError("secret")
    assert translated(error, elementsHidden=True).__cause__ is None


def test_elements_are_shown_unless_the_job_says_otherwise():
    config = StreamExecutionEnvironment.getExecutionEnvironment().getConfig()
    assert not config.elementsHiddenInErrors
    assert config.hideElementsInErrors() is config
    assert config.elementsHiddenInErrors
