"""The kinds of sources and sinks, which are in the uids of checkpoints and savepoints."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.connectors.sink import DataFrameSink, ForEachPartitionSink
from flinkish.api.connectors.source import CollectionSource, DataFrameSource, SocketSource
from flinkish.api.connectors.table_source import TableSource

KINDS = {
    CollectionSource: "CollectionSource",
    fl.NumberSequenceSource: "SequenceSource",
    DataFrameSource: "DataFrameSource",
    SocketSource: "SocketSource",
    fl.DataGeneratorSource: "DataGeneratorSource",
    TableSource: "TableSource",
    fl.FileSource: "FileSource",
    fl.KafkaSource: "KafkaSource",
    FunctionSource: "SourceFunction",
    fl.PrintSink: "PrintSink",
    DataFrameSink: "DataFrameSink",
    fl.ForEachBatchSink: "ForEachBatchSink",
    ForEachPartitionSink: "ForEachPartitionSink",
    fl.ForEachBatchDataFrameSink: "ForEachBatchDataFrameSink",
    fl.DiscardingSink: "DiscardingSink",
    fl.FileSink: "FileSink",
    fl.KafkaSink: "KafkaSink",
    fl.JdbcSink: "JdbcSink",
}


@pytest.mark.parametrize("connector", KINDS)
def test_the_kind_of_a_connector_never_changes(connector):
    assert connector.kind == KINDS[connector]
