"""Jobs as PyFlink writes them; only their imports begin with ``flinkish``."""
