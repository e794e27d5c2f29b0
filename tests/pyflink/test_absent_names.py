"""Names of PyFlink with nothing behind them here: an import says what to write instead."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from types import ModuleType

import pytest

import flinkish
from flinkish.api.absent import AbsentNameError, absent_tables
from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.common import (
    ConfigOption,
    ConfigOptions,
    Duration,
    ExecutionConfig,
    RowKind,
    Types,
)
from flinkish.pyflink.datastream import (
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    OutputTag,
    PredefinedOptions,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from flinkish.pyflink.datastream.connectors.file_system import FileSourceBuilder
from tests.docs.pages import ROOT, anchors
from tests.pyflink.reference import absent_packages

TABLE = absent_tables()["pyflink"]
MODULES = [module for module in TABLE if re.fullmatch(r"[a-z_.]+", module)]


@pytest.mark.parametrize("module", MODULES)
def test_an_import_says_what_to_write_instead(module):
    loaded = importlib.import_module(f"flinkish.pyflink.{module}")
    for absent, said in TABLE[module].items():
        name = absent.replace("*", "Anything")
        there = vars(loaded).get(name)
        if isinstance(there, ModuleType):  # imported by another test
            continue
        if module == "find_flink_home":  # which PyFlink's own tests import
            with pytest.raises(NotSupportedError, match=re.escape(said)):
                there()
            continue
        assert name not in vars(loaded), (module, name)
        for statement in (f"from {loaded.__name__} import {name}", f"loaded.{name}"):
            with pytest.raises(AbsentNameError, match=f"has no {name}. {re.escape(said)}"):
                exec(statement, {"loaded": loaded})
        if absent == "*":
            with pytest.raises(AbsentNameError):
                exec(f"from {loaded.__name__} import *", {})


def test_each_name_of_an_absent_package_is_refused():
    for module, name in absent_packages():
        with pytest.raises(AbsentNameError, match=f"has no {name}. [A-Z]"):
            exec(f"from flinkish.pyflink.{module} import {name}", {})


def test_each_name_of_tables_says_where_to_read():
    of_tables = [name for name in absent_packages() if name[0].startswith("table")]
    assert len({module for module, _ in of_tables}) > 20
    for module, name in of_tables:
        with pytest.raises(AbsentNameError) as error:
            exec(f"from flinkish.pyflink.{module} import {name}", {})
        assert "docs/port/tables.md#" in str(error.value), (module, name)


def test_the_places_are_there():
    texts = [
        text for table in absent_tables().values() for t in table.values() for text in t.values()
    ]
    places = {
        place for text in texts for place in re.findall(r"(docs/[\w/]+\.md)(?:#([\w-]+))?", text)
    }
    assert len(places) > 9
    for page, anchor in places:
        assert (ROOT / page).exists()
        assert not anchor or anchor in anchors(ROOT / page), anchor


def test_what_pyflink_has_not_either_is_an_attribute_error():
    for module in MODULES:
        loaded = importlib.import_module(f"flinkish.pyflink.{module}")
        assert not hasattr(loaded, "__path_of_nothing__")
        if "*" not in TABLE[module]:
            with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
                _ = loaded.Nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flinkish.pyflink.datastream.nothing")


def test_what_is_named_instead_is_there():
    texts = " ".join(text for names in TABLE.values() for text in names.values())
    named = set(re.findall(r"flinkish\.([A-Z]\w+)", texts))
    assert {"FileSink", "JdbcSink", "Source", "WatermarkStrategy"} < named
    assert all(hasattr(flinkish, name) for name in named)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda env: env.fromCollection([1]), "Write from_collection"),
        (lambda env: env.from_collection([1]).keyBy(str), "Write key_by"),
        (lambda env: env.from_collection([1]).key_by(str).timeWindow(5), "has no attribute"),
        (
            lambda env: env.from_collection([1]).key_by(str).time_window(5),
            "TumblingEventTimeWindows",
        ),
        (lambda env: env.create_input(None), "derived from flinkish.Source"),
        (lambda env: env.register_cached_file("a", "b"), "add_python_archive"),
        (lambda env: env.add_source(None), "Write from_source"),
        (lambda env: env.from_collection([1]).cache(), "Write it with sink_to"),
        (
            lambda env: FileSourceBuilder(None).set_split_assigner(None),  # type: ignore[attr-defined]
            "Spark spreads the files",
        ),
        (lambda env: env._j_stream_execution_environment, "there is no JVM of Flink's"),
        (lambda env: env.from_collection([1]).nothing(), "has no attribute 'nothing'"),
        (lambda env: Types.INT().get_java_type_info(), "there is no JVM of Flink's"),  # type: ignore[attr-defined]
        (lambda env: Types.INT().to_internal_type(1), "converted"),  # type: ignore[attr-defined]
        (lambda env: RowKind.DELETE.to_j_row_kind(), "there is no JVM of Flink's"),  # type: ignore[attr-defined]
        (lambda env: OutputTag("late").get_java_output_tag(), "there is no JVM of Flink's"),  # type: ignore[attr-defined]
    ],
)
def test_a_method_that_is_not_there_says_what_to_write(call, said):
    with pytest.raises(AttributeError, match=said):
        call(StreamExecutionEnvironment.get_execution_environment().set_local_execution())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_what_says_so_pickles_and_copies(copied):
    kind = Types.ROW([Types.INT()])
    assert copied(kind) == kind
    assert copied(RowKind.DELETE) is RowKind.DELETE
    assert copied(OutputTag("late", Types.INT())).tag_id == "late"


def test_settings_without_effect_are_kept():
    config = StreamExecutionEnvironment.get_execution_environment().get_config()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT
    for name in ("force_kryo", "force_avro", "closure_cleaner"):
        for verb in ("enable", "disable"):
            assert getattr(config, f"{verb}_{name}")() is config
            assert getattr(config, f"is_{name}_enabled")() is (verb == "enable")
    for name in ("generic_types", "auto_generated_uids"):
        getattr(config, f"disable_{name}")()
    assert config.has_generic_types_disabled()
    assert not config.has_auto_generated_uids_enabled()
    for name in (
        "latency_tracking_interval",
        "task_cancellation_interval",
        "task_cancellation_timeout",
    ):
        getattr(config, f"set_{name}")(7)
        assert getattr(config, f"get_{name}")() == 7
    assert config.set_use_snapshot_compression(True).is_use_snapshot_compression()
    assert not config.get_default_kryo_serializer_classes()
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []


def test_settings_of_checkpoints_and_backends_are_kept():
    config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    assert config.is_fail_on_checkpointing_errors()
    config.set_fail_on_checkpointing_errors(False)
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert config.set_force_unaligned_checkpoints().is_force_unaligned_checkpoints()
    config.set_alignment_timeout(Duration.of_seconds(5))
    assert config.get_aligned_checkpoint_timeout() == config.get_alignment_timeout()
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("a.Factory")
    backend.set_number_of_transfer_threads(7)
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert (backend.get_options(), backend.get_number_of_transfer_threads()) == ("a.Factory", 7)
    group = SlotSharingGroup.builder("g").set_cpu_cores(2).set_external_resource("gpu", 1.0).build()
    assert (group.get_cpu_cores(), group.get_external_resources()) == (2, {"gpu": 1.0})


def test_storages_and_options_keep_what_they_were_given():
    assert FileSystemCheckpointStorage("/checkpoints").get_checkpoint_path() == "/checkpoints"
    assert FileSystemCheckpointStorage("/checkpoints", 100).get_min_file_size_threshold() == 100
    assert JobManagerCheckpointStorage().get_checkpoint_path() is None
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 1024 * 1024
    limit = ConfigOptions.key("limit")
    assert limit.int_type().default_value(5) == ConfigOption("limit", 5)
    assert limit.string_type().no_default_value() == ConfigOption("limit")
