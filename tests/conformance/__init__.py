"""Replays cases recorded from Flink 2.3.0 on the harness: zero differences are wanted.

``accepted.jsonl`` holds inputs and what Flink put out, ``rejected.jsonl`` what Flink refuses. To
add a family, write a module in ``families`` and name it there.
"""
