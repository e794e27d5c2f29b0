"""Numbers have the texts that Java gives them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flinkish.runtime.formats.basic_texts import float_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (999999.9, "999999.9"),
        (1543450.1, "1543450.1"),
        (-9999999.0, "-9999999.0"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_number_of_32_bits_has_an_exponent_from_ten_million_on(value, text):
    assert float_text(np.float32(value)) == text
