"""PyFlink's Table API, which flinkish lacks: each of its names says how to go on in Spark."""

from typing import NoReturn

from flinkish.api.absent import AbsentNameError


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AbsentNameError(
        f"{__name__} has no {name}: for SQL go on in Spark, with stream.core.toDataFrame(), or"
        " stream.core.forEachBatchDataFrame(function) for what Spark refuses on a stream, and back with"
        " env.from_data_frame(df)."
    )
