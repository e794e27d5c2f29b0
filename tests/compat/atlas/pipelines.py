"""Pipelines as the users of Atlas write them, with results that follow from MongoDB's manual by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flinkish.compat.atlas import ObjectId


@dataclass(frozen=True)
class Example:
    """A text, the documents that come in, and what comes out; ``rows`` of collections for lookups, and
    ``failed``, the documents that go to the dead letter queue with their stage."""

    name: str
    text: str
    documents: list[Any]
    results: list[dict[str, Any]]
    source: str = "in"
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failed: list[tuple[Any, str]] = field(default_factory=list)
    ordered: bool = False
    """Whether the order of the results follows from the pipeline."""


def at(second: int, minute: int = 0, hour: int = 12) -> datetime:
    """A time of 2024-03-01."""
    return datetime(2024, 3, 1, hour, minute, second, tzinfo=UTC)


def iso(second: int, minute: int = 0) -> str:
    """The same as a text."""
    return f"2024-03-01T12:{minute:02}:{second:02}.000+00:00"


def solar(device: int, second: int, watts: int, temp: int, max_watts: int = 450) -> dict[str, Any]:
    return {
        "device_id": f"device_{device}",
        "group_id": device % 3,
        "timestamp": iso(second % 60, second // 60),
        "max_watts": max_watts,
        "event_type": 0 if watts else 1,
        "obs": {"watts": watts, "temp": temp},
    }


SOLAR = [
    solar(1, 0, 100, 10),
    solar(2, 1, 250, 20, 250),
    solar(1, 4, 120, 12),
    solar(4, 6, 450, 14),
    solar(3, 9, 0, 7),
    solar(1, 10, 130, 13),
    solar(2, 12, 200, 21, 250),
    solar(4, 25, 440, 15),
]

SOLAR_SOURCE = """{$source: {connectionName: 'sample_stream_solar',
    timeField: {$dateFromString: {dateString: '$timestamp'}}}}"""

EXAMPLES = [
    Example(
        "solar: the first tutorial",
        f"""
        s = {SOLAR_SOURCE}
        g = {{ $group: {{ _id: "$group_id", max_watts: {{ $max: "$obs.watts" }}, avg_watts: {{ $avg: "$obs.watts" }} }} }}
        t = {{ $tumblingWindow: {{ interval: {{ size: NumberInt(10), unit: "second" }}, pipeline: [g] }} }}
        m = {{ $merge: {{ into: {{ connectionName: "mongodb1", db: "sample_solar", coll: "solar" }} }} }}
        sp.createStreamProcessor("solarDemo", [s, t, m])
        """,
        SOLAR,
        [
            {"_id": 1, "max_watts": 450, "avg_watts": (100 + 120 + 450) / 3},
            {"_id": 2, "max_watts": 250, "avg_watts": 250.0},
            {"_id": 0, "max_watts": 0, "avg_watts": 0.0},
            {"_id": 1, "max_watts": 130, "avg_watts": 130.0},
            {"_id": 2, "max_watts": 200, "avg_watts": 200.0},
            {"_id": 1, "max_watts": 440, "avg_watts": 440.0},
        ],
        source="sample_stream_solar",
    ),
    Example(
        "solar: what is above the limit",
        """[
          { "$source": { "connectionName": "sample_stream_solar" } },
          { "$match": { "$expr": { "$gte": ["$obs.watts", { "$multiply": ["$max_watts", 0.9] }] } } },
          { "$project": { "_id": 0, "device": "$device_id", "used": { "$round": [{ "$divide": ["$obs.watts", "$max_watts"] }, 2] } } },
          { "$emit": { "connectionName": "__testLog" } }
        ]""",
        SOLAR,
        [
            {"device": "device_2", "used": 1.0},
            {"device": "device_4", "used": 1.0},
            {"device": "device_4", "used": 0.98},
        ],
        source="sample_stream_solar",
        ordered=True,
    ),
    Example(
        "solar: the three hottest of a hopping window",
        f"""
        sp.process([
          {SOLAR_SOURCE},
          {{ $hoppingWindow: {{
              interval: {{ size: NumberInt(10), unit: "second" }},
              hopSize: {{ size: NumberInt(5), unit: "second" }},
              pipeline: [
                {{ $group: {{ _id: "$device_id", temp: {{ $max: "$obs.temp" }} }} }},
                {{ $sort: {{ temp: -1 }} }},
                {{ $limit: 2 }},
                {{ $project: {{ temp: 1, from: "$_stream_meta.window.start" }} }},
              ] }} }},
        ])
        """,
        SOLAR[:6],
        [
            {"_id": "device_2", "temp": 20, "from": at(55, 59, 11)},
            {"_id": "device_1", "temp": 12, "from": at(55, 59, 11)},
            {"_id": "device_2", "temp": 20, "from": at(0)},
            {"_id": "device_4", "temp": 14, "from": at(0)},
            {"_id": "device_4", "temp": 14, "from": at(5)},
            {"_id": "device_1", "temp": 13, "from": at(5)},
            {"_id": "device_1", "temp": 13, "from": at(10)},
        ],
        source="sample_stream_solar",
        ordered=True,
    ),
    Example(
        "solar: sessions of a device",
        """
        s = {$source: {connectionName: "in", timeField: {$toDate: "$timestamp"}}}
        w = {$sessionWindow: {
          partitionBy: "$device_id",
          gap: {unit: "second", size: 6},
          pipeline: [
            {$group: {_id: "$device_id", readings: {$sum: 1}, watts: {$push: "$obs.watts"}}},
            {$addFields: {start: {$meta: "stream.window.start"}, end: {$meta: "stream.window.end"}}}
          ]}}
        sp.process([s, w])
        """,
        SOLAR,
        [
            {"_id": "device_1", "readings": 2, "watts": [100, 120], "start": at(0), "end": at(10)},
            {"_id": "device_2", "readings": 1, "watts": [250], "start": at(1), "end": at(7)},
            {"_id": "device_4", "readings": 1, "watts": [450], "start": at(6), "end": at(12)},
            {"_id": "device_3", "readings": 1, "watts": [0], "start": at(9), "end": at(15)},
            {"_id": "device_1", "readings": 1, "watts": [130], "start": at(10), "end": at(16)},
            {"_id": "device_2", "readings": 1, "watts": [200], "start": at(12), "end": at(18)},
            {"_id": "device_4", "readings": 1, "watts": [440], "start": at(25), "end": at(31)},
        ],
    ),
    Example(
        "validate: what does not fit the schema is a dead letter",
        """[
          {$source: {connectionName: "in"}},
          {$validate: {
            validator: {$jsonSchema: {
              required: ["device_id", "obs"],
              properties: {obs: {bsonType: "object", required: ["watts"], properties: {watts: {bsonType: "int", minimum: 0}}}}
            }},
            validationAction: "dlq"
          }},
          {$project: {watts: "$obs.watts"}}
        ]""",
        [
            {"device_id": "a", "obs": {"watts": 5}},
            {"device_id": "b", "obs": {"watts": -1}},
            {"obs": {"watts": 1}},
        ],
        [{"watts": 5}],
        failed=[
            ({"device_id": "b", "obs": {"watts": -1}}, "stages[1].$validate"),
            ({"obs": {"watts": 1}}, "stages[1].$validate"),
        ],
    ),
    Example(
        "validate: discarded, and a validator that is a query",
        """[
          {$source: {connectionName: "in"}},
          {$validate: {validator: {$and: [{temp: {$gte: -40}}, {temp: {$lte: 60}}]}, validationAction: "discard"}},
        ]""",
        [{"temp": 20}, {"temp": 99}, {}],
        [{"temp": 20}],
    ),
    Example(
        "lookup: orders with their customer, by connection",
        """[
          {$source: {connectionName: "in", topic: "orders"}},
          {$lookup: {
            from: {connectionName: "cluster0", db: "shop", coll: "customers"},
            localField: "customer", foreignField: "_id", as: "customer", partitionBy: "$customer"}},
          {$unwind: {path: "$customer", preserveNullAndEmptyArrays: true}},
          {$set: {city: {$ifNull: ["$customer.city", "unknown"]}, customer: "$customer.name"}},
        ]""",
        [{"order": 1, "customer": 10}, {"order": 2, "customer": 11}, {"order": 3, "customer": 99}],
        [
            {"order": 1, "customer": "Ada", "city": "London"},
            {"order": 2, "customer": "Bob", "city": "unknown"},
            {"order": 3, "city": "unknown"},
        ],
        rows={
            "customers": [{"_id": 10, "name": "Ada", "city": "London"}, {"_id": 11, "name": "Bob"}]
        },
        ordered=True,
    ),
    Example(
        "lookup: with a pipeline and variables",
        """[
          {$source: {connectionName: "in"}},
          {$lookup: {
            from: {connectionName: "cluster0", db: "shop", coll: "prices"},
            let: {sku: "$sku", qty: "$qty"},
            pipeline: [
              {$match: {$expr: {$and: [{$eq: ["$sku", "$$sku"]}, {$gte: ["$$qty", "$from"]}]}}},
              {$sort: {from: -1}}, {$limit: 1},
              {$project: {_id: 0, price: 1}}
            ],
            as: "price"}},
          {$replaceWith: {sku: "$sku", cost: {$multiply: ["$qty", {$first: "$price.price"}]}}}
        ]""",
        [{"sku": "a", "qty": 5}, {"sku": "a", "qty": 50}, {"sku": "b", "qty": 1}],
        [{"sku": "a", "cost": 50}, {"sku": "a", "cost": 400}, {"sku": "b", "cost": None}],
        rows={
            "prices": [
                {"_id": 1, "sku": "a", "from": 1, "price": 10},
                {"_id": 2, "sku": "a", "from": 10, "price": 8},
            ]
        },
        ordered=True,
    ),
    Example(
        "orders: revenue by store from a change stream",
        """
        var source = {$source: {connectionName: 'OrdersStream', db: 'shop', coll: 'orders',
            timeField: '$fullDocument.at'}};
        var pipeline = [
          {$unwind: {path: '$fullDocument.products'}},
          {$project: {
              storeId: '$fullDocument.storeId',
              saleAmount: {$multiply: ['$fullDocument.products.quantity', {$toDecimal: '$fullDocument.products.price'}]},
              quantity: '$fullDocument.products.quantity'}},
          {$group: {_id: '$storeId', totalSales: {$sum: '$saleAmount'}, totalQuantity: {$sum: '$quantity'}}},
          {$project: {_id: '$_id', totalSales: 1, avgSalePrice: {$cond: [{$eq: ['$totalQuantity', 0]}, 0,
              {$round: [{$divide: ['$totalSales', '$totalQuantity']}, 2]}]}}}
        ];
        var window = {$tumblingWindow: {interval: {size: NumberInt(5), unit: 'second'}, pipeline: pipeline}};
        var sink = {$merge: {into: {connectionName: 'OrdersStream', db: 'shop', coll: 'stats'},
            on: ['_id'], whenMatched: 'merge', whenNotMatched: 'insert'}};
        sp.process([source, window, sink]);
        sp.createStreamProcessor("computeStats", [source, window, sink]);
        sp.computeStats.start();
        """,
        [
            {
                "operationType": "insert",
                "fullDocument": {
                    "storeId": "s1",
                    "at": at(1),
                    "products": [{"price": "1.10", "quantity": 2}, {"price": "3", "quantity": 1}],
                },
            },
            {
                "operationType": "insert",
                "fullDocument": {
                    "storeId": "s2",
                    "at": at(2),
                    "products": [{"price": "0.50", "quantity": 0}],
                },
            },
            {
                "operationType": "insert",
                "fullDocument": {
                    "storeId": "s1",
                    "at": at(4),
                    "products": [{"price": "2", "quantity": 1}],
                },
            },
        ],
        [
            {"totalSales": Decimal("7.20"), "_id": "s1", "avgSalePrice": Decimal("1.80")},
            {"totalSales": Decimal("0.00"), "_id": "s2", "avgSalePrice": 0},
        ],
        source="OrdersStream",
    ),
    Example(
        "change stream: the document, with its operation, to a collection by name",
        """[
          {$source: {connectionName: "in", db: "shop", coll: "orders", config: {fullDocument: "updateLookup"}}},
          {$match: {operationType: {$in: ["insert", "update", "replace"]}}},
          {$replaceRoot: {newRoot: {$mergeObjects: ["$fullDocument", {op: "$operationType", source: "$ns.coll"}]}}},
          {$unset: ["card", "address.street"]},
        ]""",
        [
            {
                "operationType": "insert",
                "ns": {"db": "shop", "coll": "orders"},
                "fullDocument": {"_id": 1, "card": "x", "address": {"street": "y", "city": "Rome"}},
            },
            {
                "operationType": "delete",
                "ns": {"db": "shop", "coll": "orders"},
                "documentKey": {"_id": 1},
            },
        ],
        [{"_id": 1, "address": {"city": "Rome"}, "op": "insert", "source": "orders"}],
    ),
    Example(
        "iot: alerts of sensors, in steps",
        """[
          {"$source": {"connectionName": "in", "timeField": {"$toDate": "$event_time"}, "tsFieldName": "seen"}},
          {"$addFields": {"level": {"$switch": {"branches": [
             {"case": {"$gte": ["$temp", 80]}, "then": "critical"},
             {"case": {"$gte": ["$temp", 60]}, "then": "warning"}], "default": "ok"}}}},
          {"$match": {"level": {"$ne": "ok"}}},
          {"$project": {"_id": 0, "sensor": 1, "level": 1, "seen": 1}}
        ]""",
        [
            {"sensor": "a", "temp": 85, "event_time": 1709294400000},
            {"sensor": "b", "temp": 61.5, "event_time": 1709294401000},
            {"sensor": "c", "temp": 20, "event_time": 1709294402000},
            {"sensor": "d", "temp": 90, "event_time": "yesterday"},
        ],
        [
            {"sensor": "a", "seen": at(0), "level": "critical"},
            {"sensor": "b", "seen": at(1), "level": "warning"},
        ],
        failed=[({"sensor": "d", "temp": 90, "event_time": "yesterday"}, "stages[0].$source")],
        ordered=True,
    ),
    Example(
        "airports: flights by hour and carrier, best first",
        """[
          {$source: {connectionName: "in", timeField: "$departed"}},
          {$tumblingWindow: {
            interval: {size: NumberInt(1), unit: "hour"},
            pipeline: [
              {$match: {"route.from": {$regex: "^E"}}},
              {$group: {
                _id: {carrier: "$carrier", hour: {$hour: "$departed"}},
                flights: {$count: {}},
                late: {$sum: {$cond: [{$gt: ["$delay", 15]}, 1, 0]}},
                airports: {$addToSet: "$route.from"}}},
              {$match: {flights: {$gte: 2}}},
              {$set: {share: {$divide: ["$late", "$flights"]}, airports: {$size: "$airports"}}},
              {$sort: {share: -1}}
            ]}}
        ]""",
        [
            {"carrier": "LH", "route": {"from": "EDDF"}, "delay": 20, "departed": at(0)},
            {"carrier": "BA", "route": {"from": "EGLL"}, "delay": 0, "departed": at(0, 5)},
            {"carrier": "LH", "route": {"from": "EDDM"}, "delay": 10, "departed": at(0, 10)},
            {"carrier": "BA", "route": {"from": "EGLL"}, "delay": 2, "departed": at(0, 15)},
            {"carrier": "AA", "route": {"from": "KJFK"}, "delay": 2, "departed": at(0, 20)},
            {"carrier": "AF", "route": {"from": "EPWA"}, "delay": 2, "departed": at(0, 25)},
        ],
        [
            {
                "_id": {"carrier": "LH", "hour": 12},
                "flights": 2,
                "late": 1,
                "airports": 2,
                "share": 0.5,
            },
            {
                "_id": {"carrier": "BA", "hour": 12},
                "flights": 2,
                "late": 0,
                "airports": 1,
                "share": 0.0,
            },
        ],
        ordered=True,
    ),
    Example(
        "ships: the latest position of each",
        """
        sp.process([
          {$source: {connectionName: "in", timeField: {$dateFromString: {dateString: "$at", format: "%d.%m.%Y %H:%M:%S"}}}},
          {$tumblingWindow: {interval: {size: 1, unit: "minute"}, allowedLateness: {size: 10, unit: "second"}, pipeline: [
            {$sort: {_ts: 1}},
            {$group: {_id: "$mmsi", last: {$last: "$$ROOT"}, track: {$push: {lon: "$lon", lat: "$lat"}}}},
            {$project: {position: {type: "Point", coordinates: ["$last.lon", "$last.lat"]}, points: {$size: "$track"}}},
          ]}},
        ])
        """,
        [
            {"mmsi": 1, "lon": 1.0, "lat": 2.0, "at": "01.03.2024 12:00:10"},
            {"mmsi": 1, "lon": 1.5, "lat": 2.5, "at": "01.03.2024 12:00:30"},
            {"mmsi": 1, "lon": 1.2, "lat": 2.2, "at": "01.03.2024 12:00:20"},
            {"mmsi": 2, "lon": 9.0, "lat": 9.0, "at": "01.03.2024 12:00:59"},
        ],
        [
            {"_id": 1, "position": {"type": "Point", "coordinates": [1.5, 2.5]}, "points": 3},
            {"_id": 2, "position": {"type": "Point", "coordinates": [9.0, 9.0]}, "points": 1},
        ],
    ),
    Example(
        "join of two topics in a window",
        """
        s = {$source: {connectionName: "in", topic: ["temperature", "humidity"], timeField: "$timestamp",
             partitionIdleTimeout: {"size": 5, "unit": "second"}}}
        w = {$tumblingWindow: {
            interval: {size: 30, unit: "second"},
            pipeline: [{$group: {
                _id: "$group",
                humidity: {$top: {output: ["$humidity"], sortBy: {"humidity": -1, "timestamp": -1}}},
                temperature: {$top: {output: ["$temperature"], sortBy: {"temperature": -1, "timestamp": -1}}}}}]}}
        p = {$project: {_id: 1, humidity: {$arrayElemAt: ["$humidity", 0]}, temperature: {$arrayElemAt: ["$temperature", 0]}}}
        af = {$addFields: {kept: {$arrayToObject: {$filter: {
              input: {$objectToArray: "$$ROOT"}, cond: {$not: {$in: ["$$this.v", [null, "", {}]]}}}}}}}
        rr = {$replaceRoot: {newRoot: "$kept"}}
        sp.createStreamProcessor('sensorJoins', [s, w, p, af, rr])
        """,
        [
            {"group": "a", "temperature": 20, "timestamp": at(0)},
            {"group": "a", "humidity": 55, "timestamp": at(1)},
            {"group": "b", "humidity": 60, "timestamp": at(2)},
            {"group": "a", "temperature": 22, "timestamp": at(3)},
        ],
        [
            {"_id": "a", "humidity": 55, "temperature": 22},
            {"_id": "b", "humidity": 60},
        ],
    ),
    Example(
        "the changes of a document in order, put together",
        """
        s = {$source: {connectionName: "in", timeField: "$time"}}
        w = {$tumblingWindow: {interval: {size: NumberInt(1), unit: "minute"}, pipeline: [
          {$group: {_id: "$id", changes: {$push: "$$ROOT"}}},
          {$project: {changes: {$sortArray: {input: "$changes", sortBy: {time: 1}}}}},
          {$project: {state: {$reduce: {
             input: "$changes", initialValue: {added: [], removed: []},
             in: {$switch: {
               branches: [
                 {case: {$eq: ["$$this.type", "insert"]}, then: {$mergeObjects: ["$$value", {added: {$concatArrays: ["$$value.added", ["$$this.value"]]}}]}},
                 {case: {$eq: ["$$this.type", "delete"]}, then: {$mergeObjects: ["$$value", {removed: {$concatArrays: ["$$value.removed", ["$$this.value"]]}}]}}
               ],
               default: "$$value"}}}}}}
        ]}}
        sp.process([s, w])
        """,
        [
            {"id": 1, "type": "insert", "value": "b", "time": at(2)},
            {"id": 1, "type": "insert", "value": "a", "time": at(1)},
            {"id": 1, "type": "delete", "value": "a", "time": at(3)},
            {"id": 1, "type": "noop", "time": at(4)},
        ],
        [{"_id": 1, "state": {"added": ["a", "b"], "removed": ["a"]}}],
    ),
    Example(
        "distinct documents first, then sums",
        """[
          {$source: {connectionName: "in", timeField: {$toDate: "$ts"}}},
          {$unset: "ts"},
          {$tumblingWindow: {interval: {size: NumberInt(5), unit: "second"}, pipeline: [
            {$unset: ["_ts", "_stream_meta"]},
            {$group: {_id: "$$ROOT"}},
            {$replaceRoot: {newRoot: "$_id"}},
            {$group: {_id: "$entity", total: {$sum: "$count"}}}
          ]}}
        ]""",
        [
            {"entity": 0, "count": 22, "ts": 1709294400000},
            {"entity": 0, "count": 22, "ts": 1709294401000},
            {"entity": 0, "count": 3, "ts": 1709294402000},
            {"entity": 1, "count": 22, "ts": 1709294402000},
        ],
        [{"_id": 0, "total": 25}, {"_id": 1, "total": 22}],
    ),
    Example(
        "hexadecimal texts as numbers",
        """[
          {$source: {connectionName: "in"}},
          {$addFields: {dec: {$sum: {$map: {
             input: {$range: [0, {$strLenBytes: "$hex"}]},
             in: {$multiply: [
               {$pow: [16, {$subtract: [{$strLenBytes: "$hex"}, {$add: ["$$this", 1]}]}]},
               {$indexOfBytes: ["0123456789ABCDEF", {$toUpper: {$substrBytes: ["$hex", "$$this", 1]}}]}]}}}}}}
        ]""",
        [{"hex": "03C8"}, {"hex": "ff"}],
        [{"hex": "03C8", "dec": 968}, {"hex": "ff", "dec": 255}],
        ordered=True,
    ),
    Example(
        "reports by day and month of each reading",
        """[
          {$source: {connectionName: "in"}},
          {$project: {user: 1, steps: 1, at: 1, reports: ["daily", "monthly"]}},
          {$unwind: "$reports"},
          {$addFields: {report_id: {$switch: {
             branches: [{case: {$eq: ["$reports", "monthly"]}, then: {$concat: ["$user", "-", {$toString: {$month: "$at"}}]}}],
             default: {$concat: ["$user", "-", {$dateToString: {date: "$at", format: "%d-%m"}}]}}}}},
          {$unset: ["at", "_id"]}
        ]""",
        [{"_id": 1, "user": "joe", "steps": 5, "at": at(0)}],
        [
            {"user": "joe", "steps": 5, "reports": "daily", "report_id": "joe-01-03"},
            {"user": "joe", "steps": 5, "reports": "monthly", "report_id": "joe-3"},
        ],
        ordered=True,
    ),
    Example(
        "payments: customers with too many in a window, by card type",
        """[
          {$source: {connectionName: "in", timeField: {$convert: {input: "$time", to: "date"}}}},
          {$hoppingWindow: {interval: {size: 1, unit: "minute"}, hopSize: {size: 1, unit: "minute"}, pipeline: [
            {$group: {_id: "$customer", count: {$sum: 1}, total: {$sum: "$amount"}, cards: {$addToSet: "$card"},
                      first: {$first: "$amount"}, last: {$last: "$amount"}, top: {$maxN: {n: 2, input: "$amount"}}}},
            {$match: {$or: [{count: {$gte: 3}}, {total: {$gt: 1000}}]}},
            {$count: "suspicious"}
          ]}}
        ]""",
        [
            {"customer": "a", "amount": 10, "card": "x", "time": "2024-03-01T12:00:00Z"},
            {"customer": "a", "amount": 20, "card": "y", "time": "2024-03-01T12:00:05Z"},
            {"customer": "a", "amount": 30, "card": "x", "time": "2024-03-01T12:00:10Z"},
            {"customer": "b", "amount": 2000.5, "card": "z", "time": "2024-03-01T12:00:11Z"},
            {"customer": "c", "amount": 5, "card": "z", "time": "2024-03-01T12:00:12Z"},
            {"customer": "c", "amount": 5, "card": "z", "time": "2024-03-01T12:01:12Z"},
        ],
        [{"suspicious": 2}],
    ),
    Example(
        "texts taken apart",
        """[
          {$source: {connectionName: "in"}},
          {$match: {line: /^\\[(INFO|ERROR)\\]/}},
          {$set: {parts: {$regexFind: {input: "$line", regex: "\\\\[(\\\\w+)\\\\] (.*)"}}}},
          {$project: {_id: 0, level: {$toLower: {$arrayElemAt: ["$parts.captures", 0]}},
                      words: {$size: {$split: [{$arrayElemAt: ["$parts.captures", 1]}, " "]}}}}
        ]""",
        [{"line": "[INFO] all is well"}, {"line": "noise"}, {"line": "[ERROR] lost"}],
        [{"level": "info", "words": 3}, {"level": "error", "words": 1}],
        ordered=True,
    ),
    Example(
        "texts of JSON from a topic, and one that is none",
        """[{$source: {connectionName: "in", topic: "t", timeField: "$at"}}, {$project: {id: 1, n: {$type: "$n"}}}]""",
        [
            '{"id": {"$oid": "507f1f77bcf86cd799439011"}, "n": {"$numberLong": "1"}, "at": {"$date": "2024-03-01T12:00:00Z"}}',
            '{"id": 2, "n": 1, "at": {"$date": 1709294400000}}',
            "{broken",
            "[1]",
        ],
        [{"id": ObjectId("507f1f77bcf86cd799439011"), "n": "long"}, {"id": 2, "n": "int"}],
        failed=[("{broken", "stages[0].$source"), ("[1]", "stages[0].$source")],
        ordered=True,
    ),
    Example(
        "nested arrays: fields of elements kept and added",
        """[
          {$source: {connectionName: "in"}},
          {$project: {_id: 0, "items.sku": 1, items: {total: {$literal: 1}}}},
          {$set: {"items.seen": true, "meta.n": {$size: "$items"}}}
        ]""",
        [{"_id": 1, "items": [{"sku": "a", "qty": 1}, {"sku": "b"}]}],
        [
            {
                "items": [
                    {"sku": "a", "total": 1, "seen": True},
                    {"sku": "b", "total": 1, "seen": True},
                ],
                "meta": {"n": 2},
            }
        ],
    ),
    Example(
        "a document that an expression cannot take",
        """[
          {$source: {connectionName: "in"}},
          {$addFields: {share: {$divide: ["$part", "$whole"]}}},
          {$replaceRoot: {newRoot: "$doc"}}
        ]""",
        [
            {"part": 1, "whole": 4, "doc": {"ok": 1}},
            {"part": 1, "whole": 0, "doc": {"ok": 2}},
            {"part": "x", "whole": 1, "doc": {"ok": 3}},
            {"part": 1, "whole": 1, "doc": "text"},
        ],
        [{"ok": 1}],
        failed=[
            ({"part": 1, "whole": 0, "doc": {"ok": 2}}, "stages[1].$addFields"),
            ({"part": "x", "whole": 1, "doc": {"ok": 3}}, "stages[1].$addFields"),
            ({"part": 1, "whole": 1, "doc": "text", "share": 1.0}, "stages[2].$replaceRoot"),
        ],
    ),
    Example(
        "a group that cannot take a document, in a window",
        """[
          {$source: {connectionName: "in", timeField: "$at"}},
          {$tumblingWindow: {interval: {size: 10, unit: "second"}, pipeline: [
            {$group: {_id: {$toUpper: "$k"}, n: {$sum: {$toInt: "$n"}}}},
            {$sort: {_id: 1}},
            {$set: {inverse: {$divide: [1, "$n"]}}}
          ]}}
        ]""",
        [
            {"k": "a", "n": "4", "at": at(0)},
            {"k": "a", "n": "x", "at": at(1)},
            {"k": "b", "n": "0", "at": at(2)},
        ],
        [{"_id": "A", "n": 4, "inverse": 0.25}],
        failed=[
            ({"k": "a", "n": "x", "at": at(1)}, "stages[1].$tumblingWindow.pipeline[0].$group"),
            ({"_id": "B", "n": 0}, "stages[1].$tumblingWindow.pipeline[2].$set"),
        ],
    ),
    Example(
        "candles of trades",
        """[
          {$source: {connectionName: "in", timeField: {$toDate: {$multiply: ["$t", 1000]}}}},
          {$tumblingWindow: {interval: {size: NumberInt(1), unit: "minute"}, offset: {offsetFromUtc: 30, unit: "second"}, pipeline: [
            {$group: {_id: "$symbol", open: {$first: "$price"}, high: {$max: "$price"}, low: {$min: "$price"}, close: {$last: "$price"},
                      volume: {$sum: "$qty"}, p50: {$median: {input: "$price", method: "approximate"}}}},
            {$addFields: {start: "$_stream_meta.windowStartTimestamp", change: {$subtract: ["$close", "$open"]}}},
          ]}},
          {$emit: {connectionName: "candles", topic: {$concat: ["candles-", "$_id"]}}}
        ]""",
        [
            {"symbol": "X", "price": 10, "qty": 1, "t": 1709294431},
            {"symbol": "X", "price": 12.5, "qty": 2, "t": 1709294440},
            {"symbol": "X", "price": 9, "qty": 3, "t": 1709294489},
            {"symbol": "X", "price": 11, "qty": 4, "t": 1709294490},
        ],
        [
            {
                "_id": "X",
                "open": 10,
                "high": 12.5,
                "low": 9,
                "close": 9,
                "volume": 6,
                "p50": 10.0,
                "start": at(30),
                "change": -1,
            },
            {
                "_id": "X",
                "open": 11,
                "high": 11,
                "low": 11,
                "close": 11,
                "volume": 4,
                "p50": 11.0,
                "start": at(30, 1),
                "change": 0,
            },
        ],
        failed=[],
        ordered=True,
    ),
    Example(
        "a window without a group: the first documents of each",
        """[
          {$source: {connectionName: "in", timeField: "$at"}},
          {$tumblingWindow: {interval: {size: 10, unit: "second"}, pipeline: [{$sort: {v: -1}}, {$limit: 1}, {$project: {v: 1}}]}},
          {$match: {v: {$gt: 1}}}
        ]""",
        [
            {"v": 1, "at": at(0)},
            {"v": 3, "at": at(1)},
            {"v": 2, "at": at(2)},
            {"v": 1, "at": at(11)},
        ],
        [{"v": 3}],
        ordered=True,
    ),
]
