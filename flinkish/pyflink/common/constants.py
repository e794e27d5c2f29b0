"""The bounds of whole numbers of 64 bits."""

MAX_LONG_VALUE = 2**63 - 1
"""The greatest."""
MIN_LONG_VALUE = -(2**63)
"""The least, and the watermark before the first."""
DEFAULT_OUTPUT_TAG = ""
"""The name of the main output."""
