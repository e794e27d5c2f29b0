"""Jobs written for PyFlink; only their imports begin with ``flinkish``."""
