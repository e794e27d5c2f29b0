"""``DataStream`` and what its methods return; the classes make one another, so imports inside a
function are allowed here alone.

It may import every other folder of ``api`` but ``environment``.
"""
