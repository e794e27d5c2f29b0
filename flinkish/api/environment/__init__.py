"""``StreamExecutionEnvironment``, where every job begins, and its settings.

It stands above all other folders of ``api``, which may import it for type checkers only.
"""
