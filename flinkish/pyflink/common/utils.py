"""``JavaObjectWrapper``, which is Java's: the name says so."""

from flinkish.pyflink.absent import absent_names

__getattr__ = absent_names(__name__)
