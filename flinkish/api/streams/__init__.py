"""``DataStream`` and what its methods return. The classes create one another, so only here may a
function import.

It may import every other folder of ``api`` but ``environment``.
"""
