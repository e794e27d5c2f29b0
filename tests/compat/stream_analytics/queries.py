"""Queries in the style of public ones, with inputs and results derived by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

DAY = "2024-05-06T"


def at(clock: str) -> datetime:
    """A time of the day of the events."""
    return datetime.fromisoformat(f"{DAY}{clock}").replace(tzinfo=UTC)


def rows(columns: str, *lines: str) -> list[dict[str, Any]]:
    """Records of a table; a clock is a text of a datetime, a number a number, and - is left out."""
    names = columns.split()
    return [
        {name: _value(word) for name, word in zip(names, line.split()) if word != "-"}
        for line in lines
    ]


def _value(word: str) -> Any:
    if word.count(":") == 2:
        return f"{DAY}{word}Z"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


@dataclass(frozen=True)
class Case:
    """A query and what it gives."""

    sql: str
    inputs: Mapping[str, Sequence[Any]]
    outputs: Mapping[str, Sequence[Mapping[str, Any]]]
    options: Mapping[str, Any] = field(default_factory=dict)


CARS = rows(
    "Make Plate Time Weight",
    "Honda ABC-123 08:00:01 1000",
    "Toyota AAA-999 08:00:02 2000",
    "Toyota ABC-369 08:00:03 1500",
    "Honda GHI-345 08:00:12 900",
    "Ford JKL-678 08:00:20 3000",
)
READINGS = rows(
    "device t temp humidity",
    "a 08:00:05 20 40",
    "b 08:00:08 30 50",
    "a 08:00:10 22.5 -",
    "a 08:00:11 24 44",
    "b 08:00:25 10 60",
)
CLICKS = rows(
    "user Feature Event Time",
    "ann Menu Start 08:00:01",
    "bob Menu Start 08:00:02",
    "ann Menu End 08:00:08",
    "bob Menu End 08:00:12",
    "cat Menu End 08:00:13",
)
NESTED = [
    {
        "id": 1,
        "at": f"{DAY}08:00:01Z",
        "location": {"lat": 47.5, "City": {"Name": "Basel"}},
        "sensors": [{"name": "temp", "values": [1, 2]}, {"name": "hum", "values": []}],
        "meta": {"unit": "C", "scale": 2},
    },
    {"id": 2, "at": f"{DAY}08:00:02Z", "location": None, "sensors": []},
]

CASES: dict[str, Case] = {
    "pass-through": Case(
        "SELECT * INTO Out FROM Input TIMESTAMP BY Time",
        {"Input": CARS},
        {"Out": CARS},
    ),
    "LIKE, and no INTO": Case(
        "SELECT plate, TIME FROM Input TIMESTAMP BY time WHERE PLATE LIKE 'A%9' -- by plate",
        {"Input": CARS},
        {"output": rows("plate TIME", "AAA-999 08:00:02", "ABC-369 08:00:03")},
    ),
    "NOT LIKE, IN, BETWEEN": Case(
        "SELECT Plate FROM Input WHERE Plate NOT LIKE 'A[AB]%' AND Make IN ('Honda', 'Ford')"
        " AND Weight BETWEEN 900 AND 2999",
        {"Input": CARS},
        {"output": [{"Plate": "GHI-345"}]},
    ),
    "casts and sums": Case(
        "SELECT Make, SUM(CAST(Weight AS BIGINT)) AS Weight FROM Input TIMESTAMP BY Time"
        " GROUP BY Make, TumblingWindow(second, 10)",
        {"Input": [{**car, "Weight": str(car["Weight"])} for car in CARS]},
        {"output": rows("Make Weight", "Honda 1000", "Toyota 3500", "Honda 900", "Ford 3000")},
    ),
    "CASE over COUNT": Case(
        """SELECT CASE WHEN COUNT(*) = 1 THEN CONCAT('1 ', Make)
                  ELSE CONCAT(CAST(COUNT(*) AS nvarchar(max)), ' ', Make, 's') END AS CarsPassed,
               System.Timestamp() AS AsaTime
           FROM Input TIMESTAMP BY Time GROUP BY Make, TumblingWindow(Duration(second, 10))""",
        {"Input": CARS[:3]},
        {
            "output": [
                {"CarsPassed": "1 Honda", "AsaTime": at("08:00:10")},
                {"CarsPassed": "2 Toyotas", "AsaTime": at("08:00:10")},
            ]
        },
    ),
    "two outputs, HAVING by alias": Case(
        """SELECT * INTO ArchiveOutput FROM Input TIMESTAMP BY Time

           SELECT Make, System.TimeStamp() AS AsaTime, COUNT(*) AS [Count]
           INTO [alert-output] FROM Input TIMESTAMP BY Time
           GROUP BY Make, TumblingWindow(second, 10) HAVING [Count] >= 2""",
        {"Input": CARS},
        {
            "ArchiveOutput": CARS,
            "alert-output": [{"Make": "Toyota", "AsaTime": at("08:00:10"), "Count": 2}],
        },
    ),
    "a step for several outputs": Case(
        """WITH Heavy AS (SELECT * FROM Input TIMESTAMP BY Time WHERE Weight >= 1000),
                Light AS (SELECT * FROM Input TIMESTAMP BY Time WHERE Weight < 1000)
           SELECT Plate INTO HondaOutput FROM Heavy WHERE Make = 'Honda';
           SELECT Plate INTO ToyotaOutput FROM Heavy WHERE Make = 'Toyota';
           SELECT Plate INTO HondaOutput FROM Light""",
        {"Input": CARS},
        {
            "HondaOutput": rows("Plate", "ABC-123", "GHI-345"),
            "ToyotaOutput": rows("Plate", "AAA-999", "ABC-369"),
        },
    ),
    "COUNT DISTINCT": Case(
        "SELECT COUNT(DISTINCT Make) AS makes, COUNT(*) n FROM Input TIMESTAMP BY TIME"
        " GROUP BY TumblingWindow(second, 10)",
        {"Input": CARS},
        {"output": rows("makes n", "2 3", "2 2")},
    ),
    "a changed value": Case(
        "SELECT Make, Plate FROM Input TIMESTAMP BY Time"
        " WHERE LAG(Make, 1) OVER (LIMIT DURATION(minute, 1)) <> Make",
        {"Input": CARS},
        {"output": rows("Make Plate", "Toyota AAA-999", "Honda GHI-345", "Ford JKL-678")},
    ),
    "LAG by partition, with its limit and default": Case(
        "SELECT Plate, LAG(Plate, 1, 'none') OVER (PARTITION BY Make LIMIT DURATION(second, 11)) AS before,"
        " LAG(Weight, 2) OVER (LIMIT DURATION(hour, 1)) AS second FROM Input TIMESTAMP BY Time",
        {"Input": CARS},
        {
            "output": [
                {"Plate": "ABC-123", "before": "none", "second": None},
                {"Plate": "AAA-999", "before": "none", "second": None},
                {"Plate": "ABC-369", "before": "AAA-999", "second": 1000},
                {"Plate": "GHI-345", "before": "none", "second": 2000},
                {"Plate": "JKL-678", "before": "none", "second": 1500},
            ]
        },
    ),
    "the first of an interval": Case(
        "SELECT Plate, IsFirst(second, 10) OVER (PARTITION BY Make) AS ofMake FROM Input TIMESTAMP BY Time"
        " WHERE ISFIRST(second, 10) = 1",
        {"Input": CARS},
        {"output": rows("Plate ofMake", "ABC-123 1", "GHI-345 1")},
    ),
    "the first of an interval that a condition holds for": Case(
        "SELECT Plate FROM Input TIMESTAMP BY Time"
        " WHERE ISFIRST(second, 10) OVER (WHEN Weight > 1200) = 1",
        {"Input": CARS},
        {"output": rows("Plate", "AAA-999", "JKL-678")},
    ),
    "the last of a window by a join": Case(
        """WITH LastInWindow AS (
               SELECT MAX(Time) AS LastEventTime FROM Input TIMESTAMP BY Time
               GROUP BY TumblingWindow(second, 10))
           SELECT Input.Plate, Input.Time FROM Input TIMESTAMP BY Time
           INNER JOIN LastInWindow ON DATEDIFF(second, Input, LastInWindow) BETWEEN 0 AND 10
           AND Input.Time = LastInWindow.LastEventTime""",
        {"Input": CARS},
        {"output": rows("Plate Time", "ABC-369 08:00:03", "JKL-678 08:00:20")},
    ),
    "the duration between events": Case(
        """SELECT [user], feature, DATEDIFF(second,
               LAST(Time) OVER (PARTITION BY [user], feature LIMIT DURATION(hour, 1) WHEN Event = 'start'),
               Time) AS duration
           FROM Input TIMESTAMP BY Time WHERE Event = 'end'""",
        {"Input": CLICKS},
        {
            "output": [
                {"user": "ann", "feature": "Menu", "duration": 7},
                {"user": "bob", "feature": "Menu", "duration": 10},
                {"user": "cat", "feature": "Menu", "duration": None},
            ]
        },
    ),
    "the duration of a condition": Case(
        """WITH SelectPreviousEvent AS (
               SELECT *, LAG([time]) OVER (LIMIT DURATION(hour, 24)) AS previousTime,
                   LAG([weight]) OVER (LIMIT DURATION(hour, 24)) AS previousWeight
               FROM input TIMESTAMP BY [time])
           SELECT LAG(time) OVER (LIMIT DURATION(hour, 24) WHEN previousWeight < 20000) [StartFault],
               previousTime [EndFault]
           FROM SelectPreviousEvent WHERE [weight] < 20000 AND previousWeight > 20000""",
        {
            "Input": rows(
                "Time Weight",
                "08:00:01 2000",
                "08:00:02 25000",
                "08:00:03 26000",
                "08:00:07 26000",
                "08:00:08 2000",
            )
        },
        {"output": rows("StartFault EndFault", "08:00:02 08:00:07")},
    ),
    "missing values filled": Case(
        "SELECT System.Timestamp() AS windowEnd, TopOne() OVER (ORDER BY t DESC) AS lastEvent"
        " FROM input TIMESTAMP BY t GROUP BY HOPPINGWINDOW(second, 20, 10)",
        {"input": rows("t value", "08:00:10 1", "08:00:15 2", "08:00:40 3")},
        {
            "output": [
                {"windowEnd": at(end), "lastEvent": rows("t value", last)[0]}
                for end, last in (
                    ("08:00:10", "08:00:10 1"),
                    ("08:00:20", "08:00:15 2"),
                    ("08:00:30", "08:00:15 2"),
                    ("08:00:40", "08:00:40 3"),
                    ("08:00:50", "08:00:40 3"),
                )
            ]
        },
    ),
    "two types of events, by a sliding window": Case(
        """WITH power AS (
               SELECT System.Timestamp() AS windowTime, deviceId, MAX(value) AS maxPower
               FROM input TIMESTAMP BY t WHERE sensorName = 'power'
               GROUP BY deviceId, SlidingWindow(minute, 3))
           SELECT t1.t AS eventTime, t1.deviceId, t1.value AS temp, t2.maxPower
           INTO results FROM input t1 TIMESTAMP BY t
           JOIN power t2 ON t1.deviceId = t2.deviceId AND t1.t = t2.windowTime
               AND DATEDIFF(minute, t1, t2) BETWEEN 0 AND 3
           WHERE t1.sensorName = 'temp' AND t1.value <= 40 AND t2.maxPower > 10""",
        {
            "input": rows(
                "t deviceId sensorName value",
                "16:03:00 Oven1 temp 70",
                "16:03:00 Oven1 power 15",
                "16:04:00 Oven1 temp 40",
                "16:04:00 Oven1 power 8",
                "16:05:00 Oven1 temp 30",
                "16:05:00 Oven1 power 8",
                "16:06:00 Oven1 temp 20",
                "16:06:00 Oven1 power 8",
            )
        },
        {
            "results": rows(
                "eventTime deviceId temp maxPower", "16:04:00 Oven1 40 15", "16:05:00 Oven1 30 15"
            )
        },
    ),
    "duplicates removed": Case(
        """WITH Temp AS (
               SELECT COUNT(DISTINCT Time) AS CountTime, Value, DeviceId FROM Input TIMESTAMP BY Time
               GROUP BY Value, DeviceId, SYSTEM.TIMESTAMP())
           SELECT AVG(Value) AS AverageValue, DeviceId INTO Output FROM Temp
           GROUP BY DeviceId, TumblingWindow(minute, 5)""",
        {
            "Input": rows(
                "DeviceId Time Value",
                "1 08:00:01 50",
                "1 08:00:01 50",
                "2 08:00:01 40",
                "1 08:00:05 60",
            )
        },
        {"Output": rows("AverageValue DeviceId", "55.0 1", "40.0 2")},
    ),
    "boundaries, not lengths, in joins": Case(
        """SELECT l.id AS l, r.id AS r FROM L l TIMESTAMP BY t JOIN R r TIMESTAMP BY t
           ON DATEDIFF(minute, l, r) BETWEEN 0 AND 1""",
        {
            "L": rows("id t", "1 08:00:59", "2 08:01:00"),
            # 08:02:00 is a minute and a second after the first, but two boundaries
            "R": rows("id t", "3 08:00:00", "4 08:01:59", "5 08:02:00"),
        },
        {"output": rows("l r", "1 3", "1 4", "2 4", "2 5")},
    ),
    "what does not follow": Case(
        """SELECT o.id, o.t, System.Timestamp() AS at INTO Missing FROM Orders o TIMESTAMP BY t
           LEFT JOIN Payments p TIMESTAMP BY t
           ON DATEDIFF(second, o, p) BETWEEN 0 AND 10 AND o.id = p.orderId
           WHERE p.orderId IS NULL""",
        {
            "Orders": rows("id t", "1 08:00:00", "2 08:00:05", "3 08:00:30"),
            "Payments": rows("orderId t", "1 08:00:09", "2 08:00:16", "3 08:00:30"),
        },
        {"Missing": [{**rows("id t", "2 08:00:05")[0], "at": at("08:00:15")}]},
    ),
    "reference data": Case(
        """SELECT i.Plate, r.Country, i.Weight * r.factor AS tax FROM Input i TIMESTAMP BY Time
           JOIN Makes r ON i.Make = r.name WHERE i.Weight > 950""",
        {"Input": CARS},
        {
            "output": rows(
                "Plate Country tax", "ABC-123 JP 1500.0", "AAA-999 JP 4000", "ABC-369 JP 3000"
            )
        },
        {"references": {"makes": rows("name Country factor", "Honda JP 1.5", "toyota JP 2")}},
    ),
    "reference data, all events": Case(
        "SELECT Plate, r.Country FROM Input LEFT OUTER JOIN Makes r ON Input.Make = r.name WHERE Weight > 1900",
        {"Input": CARS},
        {
            "output": [
                {"Plate": "AAA-999", "Country": None},
                {"Plate": "JKL-678", "Country": "US"},
            ]
        },
        {"references": {"Makes": rows("name Country", "Ford US")}},
    ),
    "several windows": Case(
        """SELECT device, COUNT(*) AS n, System.Window().Id AS id INTO Out FROM Input TIMESTAMP BY t
           GROUP BY device, Windows(Window('ten', TumblingWindow(second, 10)),
                                    Window('thirty', TumblingWindow(second, 30)))""",
        {"Input": READINGS},
        {
            "Out": rows(
                "device n id",
                "a 2 ten",
                "b 1 ten",
                "a 1 ten",
                "b 1 ten",
                "a 3 thirty",
                "b 2 thirty",
            )
        },
    ),
    "types of columns": Case(
        """CREATE TABLE localinput(time DATETIME, user_id BIGINT, url NVARCHAR(MAX))
           SELECT user_id, MIN(time) AS window_start, System.Timestamp() AS window_end,
               DATEDIFF(s, MIN(time), System.Timestamp()) AS duration
           FROM localinput TIMESTAMP BY time
           GROUP BY user_id, SessionWindow(minute, 2, 60) OVER (PARTITION BY user_id)""",
        {
            "localinput": [
                {"time": "2017-01-26T00:00:00.0000000z", "USER_ID": "0", "more": 1},
                {"time": "2017-01-26T00:00:20.0000000z", "USER_ID": "0"},
                {"time": "2017-01-26T00:00:55.0000000z", "USER_ID": "1"},
            ]
        },
        {
            "output": [
                {
                    "user_id": user,
                    "window_start": datetime(2017, 1, 26, 0, 0, start, tzinfo=UTC),
                    "window_end": datetime(2017, 1, 26, 0, 2, end, tzinfo=UTC),
                    "duration": duration,
                }
                for user, start, end, duration in ((0, 0, 20, 140), (1, 55, 55, 120))
            ]
        },
    ),
    "windows without ids, by their short names": Case(
        """SELECT COUNT(*) AS n, System.Window().Id AS id FROM Input TIMESTAMP BY t
           GROUP BY Windows(Tumbling(second, 10), Hopping(second, 20, 20))""",
        {"Input": READINGS},
        {"output": [{"n": n, "id": None} for n in (3, 1, 1, 4, 1)]},
    ),
    "frauds": Case(
        """SELECT System.Timestamp AS WindowEnd, COUNT(*) AS FraudulentCalls INTO "MyOutput"
           FROM "CallStream" CS1 TIMESTAMP BY CallRecTime
           JOIN "CallStream" CS2 TIMESTAMP BY CallRecTime ON CS1.CallingIMSI = CS2.CallingIMSI
               AND DATEDIFF(ss, CS1, CS2) BETWEEN 1 AND 5
           WHERE CS1.SwitchNum != CS2.SwitchNum GROUP BY TumblingWindow(Duration(second, 1))""",
        {
            "CallStream": rows(
                "CallRecTime CallingIMSI SwitchNum",
                "08:00:01 7 US",
                "08:00:03 7 UK",
                "08:00:04 8 US",
                "08:00:09 7 DE",
            )
        },
        {"MyOutput": [{"WindowEnd": at("08:00:03"), "FraudulentCalls": 1}]},
    ),
    "the name of a record's field from reference data": Case(
        """SELECT input.DeviceID, thresholds.SensorName FROM input
           JOIN thresholds ON input.DeviceId = thresholds.DeviceId
           WHERE GetRecordPropertyValue(input.SensorReadings, thresholds.SensorName) > thresholds.Value""",
        {"input": [{"DeviceId": "1", "SensorReadings": {"Temp": 80, "Hum": 70}}]},
        {"output": [{"DeviceID": "1", "SensorName": "Temp"}]},
        {"references": {"thresholds": rows("DeviceId SensorName Value", "1 Temp 75", "1 Hum 75")}},
    ),
    "sessions of all devices, and of each": Case(
        """SELECT device, COUNT(*) AS n INTO Together FROM Input TIMESTAMP BY t
           GROUP BY device, SessionWindow(second, 5, 60)
           SELECT device, COUNT(*) AS n INTO Each FROM Input TIMESTAMP BY t
           GROUP BY device, SessionWindow(second, 5, 60) OVER (PARTITION BY device)""",
        {"Input": READINGS},
        {
            "Together": rows("device n", "a 3", "b 1", "b 1"),
            # 08:00:05 and 08:00:10 are five seconds apart, which ends the session of the first
            "Each": rows("device n", "a 1", "a 2", "b 1", "b 1"),
        },
    ),
    "an offset": Case(
        "SELECT COUNT(*) AS n FROM Input TIMESTAMP BY t"
        " GROUP BY TumblingWindow(Duration(second, 10), Offset(millisecond, -1))",
        {"Input": READINGS},
        {"output": rows("n", "2", "2", "1")},
    ),
    "spread and percentiles": Case(
        """SELECT AVG(temp) AS mean, STDEV(temp) AS s, VARP(temp) AS v, MIN(temp) AS low,
               PERCENTILE_CONT(0.5) OVER (ORDER BY temp) AS median,
               PERCENTILE_DISC(0.5) OVER (ORDER BY temp DESC) AS disc, COUNT(humidity) AS known
           FROM Input TIMESTAMP BY t GROUP BY TumblingWindow(minute, 1)""",
        {
            "Input": rows(
                "t temp humidity", "08:00:01 1 5", "08:00:02 3 -", "08:00:03 5 6", "08:00:04 7 -"
            )
        },
        {"output": rows("mean s v low median disc known", f"4.0 {(20 / 3) ** 0.5} 5.0 1 4.0 5 2")},
    ),
    "collected events": Case(
        """SELECT COLLECT(temp) AS temps, CollectTop(2) OVER (ORDER BY temp DESC) AS top,
               CollectTop(1, device) OVER (ORDER BY temp ASC) AS least
           FROM Input TIMESTAMP BY t GROUP BY TumblingWindow(second, 10)""",
        {"Input": READINGS[:3]},
        {
            "output": [
                {
                    "temps": [20, 30, 22.5],
                    "top": [
                        {"rank": 1, "value": READINGS[1]},
                        {"rank": 2, "value": READINGS[2]},
                    ],
                    "least": [{"rank": 1, "value": "a"}],
                }
            ]
        },
    ),
    "nested records": Case(
        """SELECT id, location.City.Name AS city, i.LOCATION.lat, GetArrayElement(sensors, 0).name AS first,
               GetArrayLength(sensors) AS n, GetRecordPropertyValue(meta, 'unit') AS unit, meta.*
           FROM Input i TIMESTAMP BY at""",
        {"Input": NESTED},
        {
            "output": [
                {
                    "id": 1,
                    "city": "Basel",
                    "lat": 47.5,
                    "first": "temp",
                    "n": 2,
                    "unit": "C",
                    "scale": 2,
                },
                {"id": 2, "city": None, "lat": None, "first": None, "n": 0, "unit": None},
            ]
        },
    ),
    "LAG before a join leaves events out": Case(
        """SELECT i.Plate, LAG(i.Plate) OVER (LIMIT DURATION(minute, 1)) AS before,
               LAST(i.Weight) OVER (PARTITION BY i.Make LIMIT DURATION(minute, 1)) AS [cls]
           FROM Input i TIMESTAMP BY Time JOIN Makes m ON i.Make = m.name""",
        {"Input": CARS},
        {
            "output": [
                {"Plate": "ABC-123", "before": None, "cls": 1000},
                {"Plate": "GHI-345", "before": "ABC-369", "cls": 900},
            ]
        },
        {"references": {"Makes": rows("name", "Honda")}},
    ),
    "LAG of both sides of a join": Case(
        """SELECT a.n AS a, LAG(a.n) OVER (LIMIT DURATION(hour, 1)) AS beforeA,
               b.n AS b, LAG(b.n) OVER (LIMIT DURATION(hour, 1)) AS beforeB
           FROM A a TIMESTAMP BY t JOIN B b TIMESTAMP BY t ON DATEDIFF(second, a, b) BETWEEN 0 AND 0""",
        {
            "A": rows("n t", "1 08:00:01", "2 08:00:02", "3 08:00:03"),
            "B": rows("n t", "7 08:00:00", "8 08:00:02"),
        },
        {"output": [{"a": 2, "beforeA": 1, "b": 8, "beforeB": 7}]},
    ),
    "array elements": Case(
        """SELECT i.id, s.ArrayIndex AS ix, s.ArrayValue.name AS name, v.ArrayValue AS value
           FROM Input AS i TIMESTAMP BY at CROSS APPLY GetArrayElements(i.sensors) AS s
           OUTER APPLY GetArrayElements(s.ArrayValue.[values]) AS v""",
        {"Input": NESTED},
        {
            "output": [
                {"id": 1, "ix": 0, "name": "temp", "value": 1},
                {"id": 1, "ix": 0, "name": "temp", "value": 2},
                {"id": 1, "ix": 1, "name": "hum", "value": None},
            ]
        },
    ),
    "record properties": Case(
        "SELECT id, p.PropertyName AS name, p.PropertyValue AS value"
        " FROM Input CROSS APPLY GetRecordProperties(Input.meta) AS p",
        {"Input": NESTED},
        {"output": rows("id name value", "1 unit C", "1 scale 2")},
    ),
    "functions of the user": Case(
        "SELECT udf.twice(temp) AS twice, UDF.Describe(device, humidity).text AS text INTO Out"
        " FROM Input TIMESTAMP BY t WHERE udf.twice(temp) >= 45",
        {"Input": READINGS},
        {
            "Out": [
                {"twice": 60, "text": "b: 50"},
                {"twice": 45.0, "text": "a: None"},
                {"twice": 48, "text": "a: 44"},
            ]
        },
        {
            "udf": {
                "twice": lambda value: value * 2,
                "describe": lambda device, humidity: {"text": f"{device}: {humidity}"},
            }
        },
    ),
    "unions": Case(
        """SELECT device, temp INTO Out FROM A TIMESTAMP BY t UNION ALL
           SELECT device, temp FROM B TIMESTAMP BY t
           SELECT device INTO Devices FROM A TIMESTAMP BY t UNION SELECT device FROM B TIMESTAMP BY t""",
        {"A": READINGS[:1], "B": READINGS[:2]},
        {
            "Out": rows("device temp", "a 20", "a 20", "b 30"),
            "Devices": rows("device", "a", "a", "b"),
        },
    ),
    "partitioned input": Case(
        "WITH P AS (SELECT * FROM Input TIMESTAMP BY t PARTITION BY PartitionId INTO 2)"
        " SELECT PartitionId, COUNT(*) AS n FROM P PARTITION BY PartitionId"
        " GROUP BY PartitionId, TumblingWindow(minute, 3)",
        {"Input": rows("PartitionId t", "0 08:00:01", "1 08:00:02", "0 08:00:03")},
        {"output": rows("PartitionId n", "0 2", "1 1")},
    ),
    "NULL in conditions": Case(
        "SELECT id FROM Input TIMESTAMP BY t WHERE NOT (a > 1 AND b = 1) OR a IN (7, NULL)",
        {
            "Input": rows(
                "id t a b", "1 08:00:01 2 -", "2 08:00:02 - 2", "3 08:00:03 7 -", "4 08:00:04 1 -"
            )
        },
        {"output": rows("id", "2", "3", "4")},
    ),
    "arithmetic and dates": Case(
        """SELECT -7 / 2 AS q, -7 % 4 AS m, 7 / 2.0 AS f, 'a' + 'b' AS ab, ROUND(2.5, 0) AS r,
               DATEADD(month, 1, '2024-01-31T00:00:00Z') AS next, DATEPART(weekday, t) AS day,
               DATENAME(month, t) AS month, DATEDIFF(hour, '2024-05-06T07:59:59Z', t) AS hours,
               TRY_CAST(word AS bigint) AS no, CAST('1' AS bit) AS yes, SUBSTRING(word, 2, 2) AS sub,
               COALESCE(nothing, word) AS c, CAST(t AS datetime) AS d, CHARINDEX('r', word) AS ix
           FROM Input TIMESTAMP BY t""",
        {"Input": rows("t word", "08:00:00 word")},
        {
            "output": [
                {
                    "q": -3,
                    "m": -3,
                    "f": 3.5,
                    "ab": "ab",
                    "r": 3.0,
                    "next": datetime(2024, 2, 29, tzinfo=UTC),
                    "day": 2,
                    "month": "May",
                    "hours": 1,
                    "no": None,
                    "yes": 1,
                    "sub": "or",
                    "c": "word",
                    "d": at("08:00:00"),
                    "ix": 3,
                }
            ]
        },
    ),
    "an aggregate over the last seconds": Case(
        """SELECT device, AVG(temp) OVER (PARTITION BY device LIMIT DURATION(second, 6)) AS mean,
               COUNT(*) OVER (LIMIT DURATION(second, 3) WHEN temp > 20) AS warm
           FROM Input TIMESTAMP BY t""",
        {"Input": READINGS},
        {
            "output": rows(
                "device mean warm", "a 20.0 0", "b 30.0 1", "a 21.25 2", "a 23.25 2", "b 10.0 0"
            )
        },
    ),
}
