"""The bounds of 64-bit whole numbers, and the name of the main output."""

MAX_LONG_VALUE = 2**63 - 1
"""The highest."""
MIN_LONG_VALUE = -(2**63)
"""The lowest, and the watermark before the first."""
DEFAULT_OUTPUT_TAG = ""
"""The name of the main output."""
