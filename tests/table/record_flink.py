"""Records what real Flink makes of the expressions in ``awkward``: ``python -m tests.table.record_flink FILE``.

It runs where apache-flink is installed, with Java. A line of the file is an expression with its type and its values, or
with the error of the planner or of the run. Values are texts, as Java writes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyflink.java_gateway import get_gateway
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment

from tests.table.awkward import COLUMNS, ROWS, expressions

AT_ONCE = 60
"""So many expressions are one query."""


MAY_FAIL = (
    "CAST('",
    "5 / 0",
    "5 / i",
    "c / 0",
    "c / j",
    "MOD(i, j)",
    "i % j",
    "i / j",
    "l / m",
    "t / t",
    "a[",
    "JSON_",
    "ELEMENT",
)
"""How expressions begin that are asked about alone, as they may fail for some row."""


def data_type(text: str) -> Any:
    name, _, rest = text.removesuffix(" NOT NULL").partition("(")
    numbers = [int(part) for part in rest.rstrip(")").split(",")] if rest else []
    if name.startswith("ARRAY"):
        return DataTypes.ARRAY(DataTypes.INT())
    if name.startswith("MAP"):
        return DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())
    if name.startswith("ROW"):
        return DataTypes.ROW(
            [DataTypes.FIELD("p", DataTypes.INT()), DataTypes.FIELD("q", DataTypes.STRING())]
        )
    kind = getattr(DataTypes, name)(*numbers)
    return kind.not_null() if text.endswith("NOT NULL") else kind


def text_of(value: Any, gateway: Any) -> str | None:
    """The value as Java writes it; an array by its elements."""
    return None if value is None else str(gateway.jvm.java.util.Arrays.deepToString(value))


def cause(error: Any) -> str:
    """The innermost message of an error of Java."""
    given = (error, error.__cause__, error.__context__)
    java = next((found.java_exception for found in given if hasattr(found, "java_exception")), None)
    if java is None:
        return (str(error) or repr(error)).splitlines()[0][:300]
    while java.getCause() is not None:
        java = java.getCause()
    return f"{java.getClass().getName()}: {java.getMessage()}".splitlines()[0][:300]


class Recorder:
    def __init__(self) -> None:
        self.gateway = get_gateway()
        cluster = self._cluster()
        self.environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        configuration = self.environment.get_config()
        configuration.set("execution.target", "remote")
        configuration.set("execution.attached", "true")
        configuration.set("rest.address", cluster.getHost())
        configuration.set("rest.port", str(cluster.getPort()))
        configuration.set("table.local-time-zone", "UTC")
        configuration.set("parallelism.default", "1")
        fields = [DataTypes.FIELD(name, data_type(kind)) for name, kind in COLUMNS]
        table = self.environment.from_elements([tuple(row) for row in ROWS], DataTypes.ROW(fields))
        self.environment.create_temporary_view("awkward", table)

    def _cluster(self) -> Any:
        """The address of a cluster in the gateway's process, which saves a new one for each query."""
        java = self.gateway.jvm.org.apache.flink
        options = java.configuration.Configuration()
        options.setString("rest.port", "0")
        options.setString("rest.bind-port", "0")
        builder = java.runtime.minicluster.MiniClusterConfiguration.Builder()
        builder.setConfiguration(options).setNumTaskManagers(1).setNumSlotsPerTaskManager(2)
        cluster = java.runtime.minicluster.MiniCluster(builder.build())
        cluster.start()
        return cluster.getRestAddress().get()

    def type_of(self, expression: str) -> str:
        table = self.environment.sql_query(f"SELECT id, {expression} AS v FROM awkward")
        columns = table._j_table.getResolvedSchema().getColumnDataTypes()
        return str(columns.get(1).toString())

    def values(self, asked: list[str]) -> dict[str, Any]:
        """By expression the values by row, or the error of the run."""
        columns = ", ".join(f"{text} AS v{number}" for number, text in enumerate(asked))
        try:
            rows = []
            result = self.environment._j_tenv.executeSql(
                f"SELECT id, {columns} FROM awkward"
            ).collect()
            while result.hasNext():
                row = result.next()
                texts = self.gateway.jvm.org.apache.flink.util.StringUtils
                rows.append(
                    [row.getField(0)]
                    + [
                        None
                        if row.getField(n + 1) is None
                        else texts.arrayAwareToString(row.getField(n + 1))
                        for n in range(len(asked))
                    ]
                )
            result.close()
            rows.sort(key=lambda row: row[0])
            return {text: [row[n + 1] for row in rows] for n, text in enumerate(asked)}
        except Exception as error:
            if len(asked) == 1:
                return {asked[0]: {"error": cause(error)}}
            middle = len(asked) // 2
            return {**self.values(asked[:middle]), **self.values(asked[middle:])}


def main(path: str) -> None:
    recorder = Recorder()
    file = Path(path)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    before = {entry["sql"]: entry for entry in map(json.loads, lines)}
    known: dict[str, dict[str, Any]] = {}
    asked = []
    for expression in expressions():
        if expression in before:
            known[expression] = before[expression]
            if len(before[expression]) == 2 and "type" in before[expression]:
                asked.append(expression)
            continue
        try:
            known[expression] = {"sql": expression, "type": recorder.type_of(expression)}
            asked.append(expression)
        except Exception as error:
            known[expression] = {"sql": expression, "refused": cause(error)}
    print(len(asked), "of", len(known), "can be planned", flush=True)
    alone = [text for text in asked if text.startswith(MAY_FAIL)]
    together = [text for text in asked if text not in alone]
    runs = [together[start : start + AT_ONCE] for start in range(0, len(together), AT_ONCE)]
    for number, run in enumerate([*runs, *([text] for text in alone)]):
        for text, found in recorder.values(run).items():
            known[text].update(found if isinstance(found, dict) else {"values": found})
        print(number, flush=True)
        lines = [json.dumps(entry, ensure_ascii=False) for entry in known.values()]
        file.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
