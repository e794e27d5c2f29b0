"""Input formats, which are Java's: the name says what to write instead."""

from flinkish.pyflink.absent import absent_names

__getattr__ = absent_names(__name__)
