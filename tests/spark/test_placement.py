"""Key groups are spread evenly over Spark's shuffle partitions."""

from collections import Counter

import pytest

from flinkish.spark.placement import balanced_integers, murmur3_of_int


def test_the_hash_is_sparks(spark):
    numbers = [0, 1, -1, 42, 2**31 - 1, -(2**31), 123456]
    rows = spark.createDataFrame([(n,) for n in numbers], "n int").selectExpr("n", "hash(n)")
    assert dict(rows.collect()) == {n: murmur3_of_int(n) for n in numbers}


@pytest.mark.parametrize(("groups", "partitions"), [(1, 1), (3, 2), (16, 2), (8, 3), (128, 7)])
def test_every_partition_gets_its_share(groups, partitions):
    integers = balanced_integers(groups, partitions)
    assert len(set(integers)) == groups
    counts = Counter(murmur3_of_int(n) % partitions for n in integers)
    shares = [counts[partition] for partition in range(partitions)]
    assert max(shares) - min(shares) <= 1
