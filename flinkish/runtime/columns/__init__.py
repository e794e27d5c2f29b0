"""How a run of elements that are columns goes through an operator at once.

The operators in ``runtime/operators`` and ``runtime/windowing`` say what is done with each element;
here the same is done with columns. A reader of Flink's meaning may leave this package unopened.
"""
