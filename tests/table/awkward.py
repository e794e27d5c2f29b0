"""The table of awkward values that real Flink was asked about, and the expressions over it."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

COLUMNS = (
    ("id", "INT NOT NULL"),
    ("b", "BOOLEAN"),
    ("t", "TINYINT"),
    ("s", "SMALLINT"),
    ("i", "INT"),
    ("j", "INT"),
    ("l", "BIGINT"),
    ("m", "BIGINT"),
    ("f", "FLOAT"),
    ("d", "DOUBLE"),
    ("e", "DOUBLE"),
    ("c", "DECIMAL(10, 2)"),
    ("g", "DECIMAL(38, 18)"),
    ("x", "STRING"),
    ("y", "STRING"),
    ("js", "STRING"),
    ("dt", "DATE"),
    ("tm", "TIME(0)"),
    ("ts", "TIMESTAMP(3)"),
    ("tz", "TIMESTAMP_LTZ(3)"),
    ("a", "ARRAY<INT>"),
    ("mp", "MAP<STRING, INT>"),
    ("r", "ROW<p INT, q STRING>"),
)
"""By name, the type of a column in Flink's SQL."""

_NAN = float("nan")
_INFINITY = float("inf")

# fmt: off
ROWS: tuple[tuple[Any, ...], ...] = (
    (0, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None,
     None, None, None, None, None),
    (1, True, 1, 2, 3, 4, 5, 6, 1.5, 2.5, 3.5, Decimal("12.34"), Decimal("1.5"), "Hello World", "o",
     '{"a": 1, "b": {"c": "text"}, "d": [1, 2, {"e": 3}], "n": null, "f": 1.50, "t": true}',
     date(2024, 2, 29), time(12, 34, 56), datetime(2024, 2, 29, 12, 34, 56, 789000),
     datetime(2024, 2, 29, 12, 34, 56, 789000), [1, 2, 3], {"k": 1, "l": 3}, (1, "one")),
    (2, False, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, Decimal("0.00"), Decimal("0"), "", "", "", date(1970, 1, 1),
     time(0, 0, 0), datetime(1970, 1, 1), datetime(1970, 1, 1), [], {}, (0, "")),
    (3, True, -1, -7, -7, 2, -7, 2, -1.5, -2.5, 0.5, Decimal("-12.35"), Decimal("-1.5"), "  padded ", "ad",
     "[1, 2, 3]", date(1969, 12, 31), time(23, 59, 59), datetime(1969, 12, 31, 23, 59, 59, 999000),
     datetime(1969, 12, 31, 23, 59, 59, 999000), [None, 5], {"": 2}, (None, None)),
    (4, False, 127, 32767, 2147483647, 1, 9223372036854775807, 1, 3.4028234663852886e38, 1.7976931348623157e308,
     2.0, Decimal("99999999.99"), Decimal("12345678901234567890.123456789012345678"), "Ünïcödé ☃ 日本", "日",
     '{"a": "x", "b": [', date(9999, 12, 31), time(6, 0, 1), datetime(2023, 12, 31, 23, 0, 0, 1000),
     datetime(2023, 12, 31, 23, 0, 0, 1000), [2147483647], {"k": -1}, (2147483647, "日本")),
    (5, True, -128, -32768, -2147483648, -1, -9223372036854775808, -1, 1.401298464324817e-45, 4.9e-324, -1.0,
     Decimal("-99999999.99"), Decimal("-12345678901234567890.123456789012345678"), "12", "2", '"only text"',
     date(1, 1, 1), time(1, 2, 3), datetime(1900, 3, 1, 1, 2, 3), datetime(1900, 3, 1, 1, 2, 3), [3, 1, 2, 1],
     {"a": 1, "b": 2}, (-5, "x")),
    (6, False, 5, 100, 100, 7, 10000000000, 3, 0.1, 0.1, 3.0, Decimal("0.05"), Decimal("0.000000000000000001"),
     "-3.7", "%", '{"a": {"a": "deep"}, "B": false, "num": 12345678901}', date(2021, 1, 3), time(18, 30, 0),
     datetime(2021, 1, 3, 10, 20, 30, 45000), datetime(2021, 1, 3, 10, 20, 30, 45000), [1], {"k": 5}, (7, "a b")),
    (7, None, 7, 13, 12345, 10, 1700000000, 1000, 1e10, 1e21, 1e-5, Decimal("1234.50"), Decimal("100"),
     "a_b%c,d;e", "_", '{"k": [{"v": 1}, {"v": 2}], "s": "quo\\"te"}', date(2000, 12, 31), time(9, 5, 7),
     datetime(2000, 12, 31, 0, 0), datetime(2000, 12, 31, 0, 0), [None], {"x": 0}, (3, "A,B")),
    (8, True, 10, 10, 10, 3, 10, 3, _NAN, _NAN, 1.0, Decimal("2.50"), Decimal("2.5"), "2024-02-29 12:34:56", "-",
     "true", date(2024, 12, 30), time(12, 0, 0), datetime(2024, 12, 30, 12, 0, 0), datetime(2024, 12, 30, 12, 0, 0),
     [10, 20], {"k": 10}, (10, "ten")),
    (9, False, -10, -10, -10, 3, -10, 3, _INFINITY, -_INFINITY, 0.0, Decimal("-2.50"), Decimal("-2.5"), "true", "tr",
     "null", date(2024, 3, 10), time(2, 30, 0), datetime(2024, 3, 10, 2, 30, 0, 500000),
     datetime(2024, 3, 10, 2, 30, 0, 500000), [-1, 0, 1], {"z": -10}, (-10, "TRUE")),
    (10, True, 3, 3, 65, 0, 123456789, 0, 123456.79, 123456.789, 1e7, Decimal("5.00"), Decimal("5"), "ab\ncd\tEF",
     "\n", '{"a":"\\u00e9","arr":[]}', date(2020, 6, 15), time(15, 45, 30), datetime(2020, 6, 15, 15, 45, 30, 123000),
     datetime(2020, 6, 15, 15, 45, 30, 123000), [5, 5], {"q": 1}, (65, "abc")),
    (11, False, 2, 2, 2, 5, 2, 62, 0.001, 0.001, -0.0, Decimal("0.10"), Decimal("0.3"), "x=1&y=2", "=",
     '{"a":[1,[2,[3]]],"o":{}}', date(1999, 1, 1), time(7, 8, 9), datetime(1999, 1, 1, 7, 8, 9, 100000),
     datetime(1999, 1, 1, 7, 8, 9, 100000), [4, 4, None], {"w": 3}, (2, "b")),
)
# fmt: on

EXPRESSIONS: dict[str, str] = {
    "columns": """
        b; t; s; i; l; f; d; c; g; x; js; dt; tm; ts; tz; a; mp; r; r.p; r.q; `x`; a[1]; a[2]; mp['k'];
        CARDINALITY(a); CARDINALITY(mp); ARRAY[i, j]; ARRAY[1, 2]; MAP['a', i]; ROW(i, x)
    """,
    "literals": """
        1; -1; 0; 2147483647; 2147483648; 9223372036854775807; 1.5; -0.25; 1e3; 1.5E0; 'text'; 'it''s'; ''; TRUE; FALSE;
        CAST(NULL AS INT); CAST(NULL AS STRING); DATE '2024-02-29'; TIME '12:34:56'; TIMESTAMP '2024-02-29 12:34:56';
        TIMESTAMP '2024-02-29 12:34:56.789'; x'41'; PI(); E(); 123.456; 0.10; 00012
    """,
    "addition": """
        i + 1; i + j; i - j; l + 1; l + m; l - m; t + t; s + s; t + i; s + l; f + f; f + d; d + e; d - e; i + d; l + f; c + c; c + 1;
        c + l; c - g; g + g; g + 1; i + c; d + c; i + 1.5; l + 1.5; i + 2147483648; -i; -l; -t; -d; -c; +i; i + l; t + 1; s + 1; t - 1;
        f + 1; d + 1; -f; c + 0.5; f + c; d + f; COALESCE(f, d); COALESCE(d, f)
    """,
    "multiplication": """
        i * j; i * 2; l * m; l * 2; t * t; s * s; d * e; f * d; c * c; c * 2; c * i; g * 2; c * d; i * 1.5; l * i; d * 2; c * 1.25;
        i * i * i; f * f; g * c
    """,
    "division": """
        i / 2; i / NULLIF(j, 0); l / NULLIF(m, 0); t / 2; s / 3; d / e; d / 2; i / 2.0; i / 2e0; c / 2; c / 3; c / NULLIF(c, 0); g / 3; 7 / 2; -7 / 2; 1 / 3.0;
        i % 3; i % NULLIF(j, 0); l % 7; MOD(i, 3); MOD(l, NULLIF(m, 0)); -7 % 3; c / i; 10 / 4 * 4; f / 3; MOD(c, 3); i / j; l / m; i % j;
        f / 0; d / 0; 5 / 0; 5 / i; c / 0; c / j; MOD(i, j); d / i; 1 / 3; 1.0 / 3; 2.50 / 0.5; t / t; s % 7; t % 3; d % 2; c % 3
    """,
    "comparison": """
        i = j; i <> j; i < j; i <= j; i > j; i >= j; i != j; l = i; d = e; d > 0; d = d; d <> d; d < e; f > d; f = 0.1; d = 0.1; c = 2.5; c > 1; c = d;
        x = y; x < y; x > 'a'; x = ''; x <> ''; b = TRUE; b; NOT b; b = (i > 0); dt > DATE '2000-01-01'; ts < TIMESTAMP '2000-01-01 00:00:00';
        tm > TIME '12:00:00'; dt = DATE '2024-02-29'; i BETWEEN 0 AND 10; i NOT BETWEEN 0 AND 10; i BETWEEN j AND 10; x BETWEEN 'A' AND 'b';
        i IN (1, 2, 3); i NOT IN (1, 2, 3); i IN (1, j); i IN (100, CAST(NULL AS INT)); i NOT IN (3, CAST(NULL AS INT)); x IN ('12', 'true');
        i IS NULL; i IS NOT NULL; x IS NULL; b IS TRUE; b IS FALSE; b IS NOT TRUE; b IS NOT FALSE; b IS UNKNOWN; b IS NOT UNKNOWN;
        i IS DISTINCT FROM j; i IS NOT DISTINCT FROM j; i = 3.0; i = '3'; x = 12; i > 1.5; l > 2147483648; c BETWEEN 0 AND 5; a = a; ts = tz;
        t = s; f = f; f = d; x IN ('a', CAST(NULL AS STRING)); d IN (0.1, 2.5); c IN (2.5, 5); b <> TRUE; b > FALSE; d >= e; d <= 0; f < 1; l <> m
    """,
    "logic": """
        b AND i > 0; b OR i > 0; NOT (b AND i > 0); b AND CAST(NULL AS BOOLEAN); b OR CAST(NULL AS BOOLEAN); NOT CAST(NULL AS BOOLEAN);
        i <> 0 AND 10 / i > 1; i = 0 OR 10 / i > 1; (i > 0) = (j > 0); i > 0 AND j > 0 AND l > 0; i > 0 OR j > 0 AND l > 0;
        i > 0 AND NOT b OR l IS NULL; CASE WHEN i <> 0 THEN 100 / i ELSE -1 END; (b OR i IS NULL) AND x IS NOT NULL
    """,
    "conditional": """
        CASE WHEN i > 0 THEN 'positive' WHEN i < 0 THEN 'negative' ELSE 'zero' END; CASE WHEN i > 0 THEN 'plus' END; CASE i WHEN 3 THEN 'three' WHEN 10 THEN 'ten' ELSE 'other' END;
        CASE WHEN b THEN i ELSE l END; CASE WHEN b THEN i ELSE d END; CASE WHEN b THEN 1 ELSE 2.5 END; CASE WHEN b THEN c ELSE 1 END;
        CASE WHEN b THEN 'a' ELSE 'long text' END; COALESCE(i, 0); COALESCE(i, j, 0); COALESCE(x, 'none'); COALESCE(i, l); COALESCE(c, 0); COALESCE(d, 0);
        NULLIF(i, 3); NULLIF(x, ''); NULLIF(i, l); IF(b, i, j); IF(i > 0, 'yes', 'no'); IFNULL(i, 0); IFNULL(x, 'none'); IF(b, 1, 2.5); IF(b, i, l); CASE WHEN b THEN f ELSE d END; CASE WHEN b THEN d ELSE f END; IF(b, f, d); GREATEST(f, d);
        GREATEST(i, j); LEAST(i, j); GREATEST(i, 5, j); GREATEST(l, i); LEAST(x, y); GREATEST(d, e); IS_DECIMAL(x); IS_DIGIT(x); IS_ALPHA(x);
        COALESCE(NULL, i); CASE WHEN i IS NULL THEN NULL ELSE x END; CASE WHEN i > 0 THEN 1 WHEN j > 0 THEN CAST(2 AS BIGINT) END; COALESCE(x, y, ''); COALESCE(i, 2.5);
        NULLIF(d, 0); IFNULL(i, l); IFNULL(c, 0); CASE x WHEN '12' THEN 1 WHEN 'true' THEN 2 END; COALESCE(dt, DATE '2000-01-01'); COALESCE(ts, TIMESTAMP '2000-01-01 00:00:00')
    """,
    "cast of numbers": """
        CAST(i AS TINYINT); CAST(i AS SMALLINT); CAST(i AS INT); CAST(i AS BIGINT); CAST(i AS FLOAT); CAST(i AS DOUBLE); CAST(i AS DECIMAL(12, 2)); CAST(i AS DECIMAL(5, 0)); CAST(i AS DECIMAL(4, 1));
        CAST(i AS STRING); CAST(i AS BOOLEAN); CAST(i AS VARCHAR(3)); CAST(i AS CHAR(5)); CAST(l AS INT); CAST(l AS SMALLINT); CAST(l AS TINYINT); CAST(l AS DOUBLE); CAST(l AS FLOAT); CAST(l AS STRING); CAST(l AS DECIMAL(20, 0));
        CAST(d AS INT); CAST(d AS BIGINT); CAST(d AS SMALLINT); CAST(d AS TINYINT); CAST(d AS FLOAT); CAST(d AS STRING); CAST(d AS DECIMAL(10, 2)); CAST(d AS DECIMAL(38, 10)); CAST(d AS BOOLEAN); CAST(f AS INT); CAST(f AS BIGINT); CAST(f AS DOUBLE); CAST(f AS STRING); CAST(f AS DECIMAL(10, 3));
        CAST(c AS INT); CAST(c AS BIGINT); CAST(c AS TINYINT); CAST(c AS DOUBLE); CAST(c AS STRING); CAST(c AS DECIMAL(5, 1)); CAST(c AS DECIMAL(12, 4)); CAST(c AS DECIMAL(3, 0)); CAST(g AS STRING); CAST(g AS DOUBLE); CAST(g AS INT); CAST(g AS BIGINT); CAST(g AS DECIMAL(10, 2)); CAST(c AS FLOAT); CAST(c AS BOOLEAN);
        CAST(b AS INT); CAST(b AS STRING); CAST(b AS DOUBLE); CAST(b AS DECIMAL(3, 1)); CAST(b AS BIGINT); CAST(t AS INT); CAST(s AS TINYINT); CAST(t AS STRING); CAST(1.5 AS INT); CAST(-1.5 AS INT); CAST(2.5 AS INT); CAST(1e0 AS STRING); CAST(1e7 AS STRING); CAST(1e-3 AS STRING); CAST(0.1 AS STRING); CAST(100 AS STRING); CAST(1.50 AS STRING);
        CAST(i AS TIMESTAMP_LTZ(3)); CAST(1.10 AS DECIMAL(3, 1)); CAST(e AS STRING); CAST(d * 100 AS STRING); CAST(f * 3 AS STRING); CAST(d / 3 AS STRING); CAST(e AS INT)
    """,
    "cast of texts": """
        CAST('12' AS INT); CAST(' 12 ' AS INT); CAST('-7' AS BIGINT); CAST('1.9' AS INT); CAST('1.5' AS DOUBLE); CAST('1e3' AS DOUBLE); CAST('1.555' AS DECIMAL(5, 2)); CAST('true' AS BOOLEAN); CAST('F' AS BOOLEAN); CAST('yes' AS BOOLEAN); CAST('1' AS BOOLEAN); CAST('abc' AS INT); CAST('' AS INT); CAST('300' AS TINYINT);
        TRY_CAST(x AS INT); TRY_CAST(x AS DOUBLE); TRY_CAST(x AS BOOLEAN); TRY_CAST(x AS DECIMAL(5, 1)); TRY_CAST(x AS DATE); TRY_CAST(x AS TIMESTAMP(3)); TRY_CAST(x AS TIME); TRY_CAST(x AS BIGINT); CAST(x AS VARCHAR(3)); CAST(x AS CHAR(4)); CAST(x AS STRING); CAST(x AS BYTES); CAST('2024-02-29' AS DATE); CAST('2024-2-9' AS DATE); CAST('2024-02-30' AS DATE); CAST('12:34:56' AS TIME); CAST('12:34' AS TIME);
        CAST('2024-02-29 12:34:56' AS TIMESTAMP(3)); CAST('2024-02-29T12:34:56' AS TIMESTAMP(3)); CAST('2024-02-29 12:34:56.123456' AS TIMESTAMP(3)); CAST('2024-02-29' AS TIMESTAMP(3)); CAST('2024-02-29 12:34' AS TIMESTAMP(0)); CAST('2024-02-29 12:34:56.789' AS TIMESTAMP); CAST('2024-02-29 12:34:56' AS TIMESTAMP_LTZ(3)); CAST('1' AS DOUBLE); CAST('NaN' AS DOUBLE); CAST('Infinity' AS DOUBLE); CAST('1d' AS DOUBLE); CAST('0x1p3' AS DOUBLE); CAST('+5' AS INT); CAST('1_0' AS INT); CAST('12.5' AS DECIMAL(4, 1)); CAST('99999' AS DECIMAL(4, 1)); TRY_CAST('999' AS TINYINT); TRY_CAST('nan' AS DOUBLE); CAST('-3.7' AS INT); CAST('2147483648' AS INT); CAST('1.5' AS FLOAT); TRY_CAST('.5' AS DOUBLE); TRY_CAST('5.' AS INT); TRY_CAST('.5' AS INT); TRY_CAST('--1' AS INT); TRY_CAST('1e3' AS INT); TRY_CAST('1e3' AS DECIMAL(8, 2)); TRY_CAST(' 1.5 ' AS DOUBLE); TRY_CAST(' 1.5 ' AS DECIMAL(5, 2)); TRY_CAST('t' AS BOOLEAN); TRY_CAST('TRUE' AS BOOLEAN); TRY_CAST(' true ' AS BOOLEAN); TRY_CAST('no' AS BOOLEAN); TRY_CAST('0' AS BOOLEAN); TRY_CAST('n' AS BOOLEAN); TRY_CAST('on' AS BOOLEAN)
    """,
    "cast of times": """
        CAST(dt AS STRING); CAST(tm AS STRING); CAST(ts AS STRING); CAST(tz AS STRING); CAST(dt AS TIMESTAMP(3)); CAST(ts AS DATE); CAST(ts AS TIME); CAST(ts AS TIMESTAMP(0)); CAST(ts AS TIMESTAMP(6)); CAST(ts AS TIMESTAMP_LTZ(3)); CAST(tz AS TIMESTAMP(3)); CAST(tz AS DATE); CAST(tz AS TIME); CAST(ts AS BIGINT); CAST(tz AS TIMESTAMP_LTZ(0)); CAST(dt AS TIMESTAMP_LTZ(3)); CAST(ts AS TIMESTAMP(1)); CAST(CAST(ts AS TIMESTAMP(0)) AS STRING); CAST(CAST(ts AS TIMESTAMP(1)) AS STRING)
    """,
    "cast of others": """
        CAST(a AS STRING); CAST(mp AS STRING); CAST(r AS STRING); CAST(a AS ARRAY<BIGINT>); CAST(x'41' AS STRING)
    """,
    "texts": """
        x || y; x || 'z'; 'a' || 'b'; UPPER(x); LOWER(x); CHAR_LENGTH(x); CHARACTER_LENGTH(x); TRIM(x); LTRIM(x); RTRIM(x); TRIM(BOTH 'a' FROM x); TRIM(LEADING 'H' FROM x); TRIM(TRAILING 'd' FROM x); BTRIM(x);
        SUBSTRING(x FROM 2); SUBSTRING(x FROM 2 FOR 3); SUBSTRING(x, 2); SUBSTRING(x, 2, 3); SUBSTRING(x, 0, 3); SUBSTRING(x, -3, 2); SUBSTRING(x, -3); SUBSTRING(x, 100); SUBSTRING(x, 0); SUBSTR(x, 2, 3); SUBSTR(x, 2); SUBSTRING(x, 3, 0); SUBSTRING(x, 2, -1); SUBSTRING(x, j, 2); SUBSTRING(x, -100, 200); SUBSTRING(x, -1);
        POSITION('o' IN x); POSITION(y IN x); LOCATE('o', x); LOCATE('o', x, 6); LOCATE(y, x); INSTR(x, 'o'); INSTR(x, y); LEFT(x, 3); RIGHT(x, 3); LEFT(x, -1); RIGHT(x, -1); LEFT(x, 0); RIGHT(x, 100); LEFT(x, j);
        REPLACE(x, 'o', '0'); REPLACE(x, y, '*'); REPLACE(x, '', '*'); REVERSE(x); REPEAT(x, 2); REPEAT(x, 0); REPEAT(x, -1); LPAD(x, 6, '*'); RPAD(x, 6, '*'); LPAD(x, 14, 'ab'); RPAD(x, 14, 'ab'); LPAD(x, -1, '*'); LPAD(x, 3, ''); LPAD(x, 0, '*'); RPAD(x, 0, '*');
        INITCAP(x); ASCII(x); ASCII(y); CHR(65); CHR(i); CHR(233); CONCAT(x, y); CONCAT(x, '-', y); CONCAT_WS('-', x, y, 'end'); CONCAT_WS(y, x, 'z'); OVERLAY(x PLACING '**' FROM 2); OVERLAY(x PLACING '**' FROM 2 FOR 3);
        SPLIT_INDEX(x, ' ', 0); SPLIT_INDEX(x, ' ', 1); SPLIT_INDEX(x, ',', 1); SPLIT_INDEX(x, ' ', -1); SPLIT_INDEX(x, '', 0); SPLIT_INDEX(x, 'l', 1); MD5(x); SHA1(x); SHA224(x); SHA256(x); SHA384(x); SHA512(x); SHA2(x, 256); TO_BASE64(x); FROM_BASE64('SGk='); FROM_BASE64(TO_BASE64(x)); HEX(x); HEX(i); HEX(l); BIN(i); BIN(l); STARTSWITH(x, 'He'); ENDSWITH(x, 'ld'); STARTSWITH(x, y); ENDSWITH(x, y);
        UPPER('straße'); LOWER('İ'); CHAR_LENGTH('😀'); UPPER(x || y); TRIM('  a  '); SUBSTRING('😀abc', 2, 2); REVERSE('😀a'); LENGTH(x); OCTET_LENGTH(x); STR_TO_MAP('a=1,b=2'); STR_TO_MAP(x, '&', '='); URL_ENCODE(x); URL_DECODE('a%20b+c'); PARSE_URL('http://u@h.de:80/p/q?a=1&b=2#r', 'HOST'); PARSE_URL('http://h.de/p?a=1&b=2', 'QUERY', 'b'); TRANSLATE(x, 'lo', '01'); ELT(2, 'a', 'b'); SPLIT(x, ' '); PRINTF('%d', i); LTRIM(x, 'H '); BTRIM(x, 'Hd'); REGEXP_COUNT(x, 'l'); INITCAP('hello wORLD foo-bar')
    """,
    "patterns": """
        x LIKE 'H%'; x LIKE '%o%'; x LIKE '_ello%'; x LIKE ''; x LIKE '%'; x LIKE 'a_b%'; x LIKE 'a\\_b%' ESCAPE '\\'; x LIKE '%!%%' ESCAPE '!'; x NOT LIKE 'H%'; x LIKE y; x LIKE '%日%'; x LIKE '%cd%'; x LIKE 'h%'; x LIKE '12'; x LIKE '%.%'; x LIKE '%a\\_b%';
        x LIKE '%' || y || '%'; x SIMILAR TO '(H|a).*'; REGEXP(x, 'l+'); REGEXP(x, '^H'); REGEXP(x, '\\d'); REGEXP_REPLACE(x, 'l+', 'L'); REGEXP_REPLACE(x, '(\\w)o', '$1_'); REGEXP_REPLACE(x, '[', 'L'); REGEXP_EXTRACT(x, '(\\w+) (\\w+)', 2); REGEXP_EXTRACT(x, '(\\w+) (\\w+)', 0); REGEXP_EXTRACT(x, '(\\w+) (\\w+)'); REGEXP_EXTRACT(x, 'l(l)', 5); REGEXP_EXTRACT(x, '(\\w+)', 1); REGEXP_REPLACE(x, '\\s+', ''); REGEXP_REPLACE(x, '.', 'x'); REGEXP(x, ''); REGEXP(x, '[[:alpha:]]'); REGEXP_EXTRACT(x, '(\\d+)-(\\d+)', 2); REGEXP_REPLACE(x, 'o', '\\$'); REGEXP_SUBSTR(x, 'l+')
    """,
    "numbers": """
        ABS(i); ABS(l); ABS(d); ABS(c); ABS(f); ABS(t); POWER(i, 2); POWER(2, 10); POWER(d, 2); SQRT(i); SQRT(d); SQRT(4); LN(i); LN(d); LOG10(100); LOG10(d); LOG2(8); LOG2(d); LOG(100); LOG(2, 8); LOG(d); EXP(1); EXP(d); EXP(i);
        CEIL(d); CEIL(c); CEIL(i); CEIL(f); CEILING(d); FLOOR(d); FLOOR(c); FLOOR(i); FLOOR(f); ROUND(d); ROUND(d, 1); ROUND(d, 2); ROUND(c, 1); ROUND(c, 0); ROUND(c); ROUND(i, -1); ROUND(l, -2); ROUND(2.5, 0); ROUND(-2.5, 0); ROUND(1.005, 2); ROUND(1.005e0, 2); ROUND(d, -1); ROUND(g, 3); ROUND(i, 2); ROUND(f, 1); ROUND(g, 1);
        TRUNCATE(d, 1); TRUNCATE(c, 1); TRUNCATE(d); TRUNCATE(i, -1); TRUNCATE(c); SIGN(i); SIGN(d); SIGN(c); SIN(i); COS(i); TAN(i); ASIN(e); ACOS(e); ATAN(d); ATAN2(d, e); SINH(e); COSH(e); TANH(d); COT(i); DEGREES(e); RADIANS(i); MOD(t, 3); MOD(-7, 3); POWER(e, 0.5); SQRT(c); EXP(c); ABS(g); CEIL(g); FLOOR(g); SIGN(g); LN(c); POWER(c, 2); CEIL(2.1); ROUND(123.456, -1); ROUND(i); CAST(ROUND(d, 2) AS STRING)
    """,
    "times": """
        YEAR(dt); MONTH(dt); DAYOFMONTH(dt); QUARTER(dt); WEEK(dt); DAYOFYEAR(dt); DAYOFWEEK(dt); YEAR(ts); HOUR(ts); MINUTE(ts); SECOND(ts); HOUR(tm); MINUTE(tm); SECOND(tm); EXTRACT(YEAR FROM ts); EXTRACT(MONTH FROM dt); EXTRACT(DAY FROM ts); EXTRACT(HOUR FROM ts); EXTRACT(MINUTE FROM tm); EXTRACT(SECOND FROM ts); EXTRACT(WEEK FROM dt); EXTRACT(DOW FROM dt); EXTRACT(DOY FROM ts); EXTRACT(QUARTER FROM ts); EXTRACT(EPOCH FROM ts); EXTRACT(MILLISECOND FROM ts); EXTRACT(ISODOW FROM dt); EXTRACT(ISOYEAR FROM dt); EXTRACT(CENTURY FROM dt); YEAR(tz); HOUR(tz); EXTRACT(DAY FROM tz); EXTRACT(EPOCH FROM dt);
        dt + INTERVAL '1' DAY; dt - INTERVAL '1' MONTH; dt + INTERVAL '1' YEAR; dt + INTERVAL '2' HOUR; ts + INTERVAL '1' DAY; ts + INTERVAL '90' MINUTE; ts - INTERVAL '1' MONTH; ts + INTERVAL '1' SECOND; ts + INTERVAL '1 02:03:04' DAY TO SECOND; tz + INTERVAL '1' HOUR; tz - INTERVAL '1' MONTH; tm + INTERVAL '1' HOUR; ts + INTERVAL '1-2' YEAR TO MONTH; ts - INTERVAL '1' DAY; ts + INTERVAL '1.5' SECOND; ts + INTERVAL '1' WEEK; tm + INTERVAL '13' HOUR; ts + INTERVAL -'1' DAY; ts + INTERVAL '-1' DAY;
        FLOOR(ts TO HOUR); FLOOR(ts TO DAY); FLOOR(ts TO MONTH); FLOOR(ts TO YEAR); FLOOR(dt TO MONTH); FLOOR(dt TO YEAR); CEIL(ts TO HOUR); CEIL(ts TO DAY); CEIL(dt TO MONTH); FLOOR(ts TO MINUTE); FLOOR(ts TO SECOND); FLOOR(tz TO HOUR); FLOOR(tm TO HOUR); FLOOR(ts TO WEEK); FLOOR(ts TO QUARTER); FLOOR(dt TO WEEK); CEIL(ts TO MONTH); FLOOR(tz TO DAY); CEIL(ts TO YEAR);
        TIMESTAMPADD(DAY, 1, ts); TIMESTAMPADD(MONTH, i, dt); TIMESTAMPADD(HOUR, 2, ts); TIMESTAMPADD(SECOND, 5, ts); TIMESTAMPADD(WEEK, 1, dt); TIMESTAMPADD(QUARTER, 1, ts); TIMESTAMPADD(YEAR, 1, dt); TIMESTAMPDIFF(DAY, ts, TIMESTAMP '2024-01-01 00:00:00'); TIMESTAMPDIFF(HOUR, TIMESTAMP '2024-01-01 00:30:00', ts); TIMESTAMPDIFF(MONTH, dt, DATE '2024-02-28'); TIMESTAMPDIFF(YEAR, ts, TIMESTAMP '2024-02-28 00:00:00'); TIMESTAMPDIFF(SECOND, ts, TIMESTAMP '2024-01-01 00:00:00'); TIMESTAMPDIFF(MINUTE, ts, TIMESTAMP '2024-01-01 00:00:00'); TIMESTAMPDIFF(DAY, dt, DATE '2024-02-28'); TIMESTAMPDIFF(WEEK, ts, TIMESTAMP '2024-01-01 00:00:00');
        DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss'); DATE_FORMAT(ts, 'yyyy-MM-dd'); DATE_FORMAT(ts, 'HH:mm'); DATE_FORMAT(ts, 'yyyyMMddHHmmssSSS'); DATE_FORMAT(ts, 'dd.MM.yy'); DATE_FORMAT(tz, 'yyyy-MM-dd HH'); DATE_FORMAT('2024-02-29 12:34:56', 'yyyy/MM/dd'); DATE_FORMAT(ts, 'EEE, d MMM yyyy'); DATE_FORMAT(ts, 'EEEE'); DATE_FORMAT(ts, 'h:mm a'); DATE_FORMAT(ts, 'yyyy''T''MM'); DATE_FORMAT(ts, 'D'); DATE_FORMAT(ts, 'MMMM');
        TO_DATE('2024-02-29'); TO_DATE('29.02.2024', 'dd.MM.yyyy'); TO_DATE(x); TO_TIMESTAMP('2024-02-29 12:34:56'); TO_TIMESTAMP('2024-02-29 12:34:56.789'); TO_TIMESTAMP(x); TO_TIMESTAMP('29.02.2024 12:34', 'dd.MM.yyyy HH:mm'); TO_TIMESTAMP('2024-02-29'); TO_TIMESTAMP_LTZ(l, 0); TO_TIMESTAMP_LTZ(l, 3); TO_TIMESTAMP_LTZ(1700000000123, 3); TO_TIMESTAMP_LTZ(1700000000, 0); TO_TIMESTAMP_LTZ(1700000000); FROM_UNIXTIME(0); FROM_UNIXTIME(i); FROM_UNIXTIME(1700000000, 'yyyy-MM-dd'); UNIX_TIMESTAMP('2024-02-29 12:34:56'); UNIX_TIMESTAMP('2024-02-29', 'yyyy-MM-dd'); UNIX_TIMESTAMP(x); UNIX_TIMESTAMP(CAST(ts AS STRING)); CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles'); DATE_FORMAT(x, 'yyyy'); TO_TIMESTAMP('2024-02-29T12:34:56', 'yyyy-MM-dd''T''HH:mm:ss'); UNIX_TIMESTAMP('2024-02-29 12:34:56.789', 'yyyy-MM-dd HH:mm:ss.SSS'); TO_DATE('2024-13-01'); FROM_UNIXTIME(l); TO_TIMESTAMP_LTZ(m, 3); ts > dt; dt = CAST('2024-02-29' AS DATE); (ts - TIMESTAMP '2024-01-01 00:00:00') DAY TO SECOND; TO_TIMESTAMP('2024-02-29T12:34:56Z', 'yyyy-MM-dd''T''HH:mm:ss''Z'''); TO_TIMESTAMP('20240229123456', 'yyyyMMddHHmmss')
    """,
    "json": """
        JSON_VALUE(js, '$.a'); JSON_VALUE(js, '$.b.c'); JSON_VALUE(js, '$.d[1]'); JSON_VALUE(js, '$.d[2].e'); JSON_VALUE(js, '$.n'); JSON_VALUE(js, '$.f'); JSON_VALUE(js, '$.t'); JSON_VALUE(js, '$.b'); JSON_VALUE(js, '$'); JSON_VALUE(js, '$[0]'); JSON_VALUE(js, '$.missing'); JSON_VALUE(js, 'lax $.a'); JSON_VALUE(js, 'strict $.a'); JSON_VALUE(js, '$.a' RETURNING INT); JSON_VALUE(js, '$.f' RETURNING DOUBLE); JSON_VALUE(js, '$.t' RETURNING BOOLEAN); JSON_VALUE(js, '$.a' DEFAULT 'none' ON EMPTY); JSON_VALUE(js, '$.missing' DEFAULT 'none' ON EMPTY DEFAULT 'broken' ON ERROR); JSON_VALUE(js, '$.missing' RETURNING INT DEFAULT -1 ON EMPTY); JSON_VALUE(js, '$.b' NULL ON EMPTY DEFAULT 'broken' ON ERROR); JSON_VALUE('{"a":true}', '$.a'); JSON_VALUE(js, '$.num'); JSON_VALUE(js, '$.k[*].v'); JSON_VALUE(js, '$["a"]'); JSON_VALUE(js, '$.s'); JSON_VALUE('{"a":1e2}', '$.a'); JSON_VALUE('{"a":1.0}', '$.a'); JSON_VALUE('{"a":"1"}', '$.a' RETURNING INT); JSON_VALUE(js, '$.num' RETURNING BIGINT); JSON_VALUE('{"a b":1}', '$.[''a b'']'); JSON_VALUE('{"a b":1}', '$[''a b'']'); JSON_VALUE('{"a":12345678901234567890}', '$.a'); JSON_VALUE('{"a":0.1e-7}', '$.a');
        JSON_EXISTS(js, '$.a'); JSON_EXISTS(js, '$.b.c'); JSON_EXISTS(js, '$.missing'); JSON_EXISTS(js, '$.n'); JSON_EXISTS(js, '$[5]'); JSON_EXISTS(js, '$.d[0]'); JSON_EXISTS(js, 'strict $.x' FALSE ON ERROR); JSON_EXISTS(js, '$'); JSON_EXISTS(js, 'strict $.a' TRUE ON ERROR);
        JSON_QUERY(js, '$.b'); JSON_QUERY(js, '$.d'); JSON_QUERY(js, '$.a'); JSON_QUERY(js, '$'); JSON_QUERY(js, '$.missing'); JSON_QUERY(js, '$.a' WITH WRAPPER); JSON_QUERY(js, '$.d' WITH CONDITIONAL WRAPPER); JSON_QUERY(js, '$.k[*].v' WITH WRAPPER); JSON_QUERY(js, '$.missing' EMPTY ARRAY ON EMPTY); JSON_QUERY(js, '$.d[*]' WITH WRAPPER);
        js IS JSON; js IS JSON OBJECT; js IS JSON ARRAY; js IS JSON SCALAR; js IS NOT JSON; js IS JSON VALUE; JSON_STRING(i); JSON_STRING(x); JSON_STRING(d); JSON_OBJECT('a' VALUE i, 'b' VALUE x); JSON_ARRAY(i, x); JSON_QUOTE(x); JSON_UNQUOTE(js); JSON_OBJECT(KEY 'k' VALUE i NULL ON NULL); JSON_OBJECT('k' VALUE i ABSENT ON NULL); JSON_ARRAY(i, j NULL ON NULL); JSON_STRING(b); JSON_STRING(a)
    """,
    "collections": """
        ARRAY_CONTAINS(a, 1); ARRAY_CONTAINS(a, i); ARRAY_CONTAINS(a, CAST(NULL AS INT)); ELEMENT(ARRAY[1]); ARRAY_DISTINCT(a); ARRAY_REVERSE(a); ARRAY_CONCAT(a, a); ARRAY_APPEND(a, 9); ARRAY_PREPEND(a, 9); ARRAY_POSITION(a, 1); ARRAY_REMOVE(a, 1); ARRAY_SLICE(a, 1, 2); ARRAY_MAX(a); ARRAY_MIN(a); ARRAY_SORT(a); ARRAY_JOIN(ARRAY['a', x], ','); ARRAY_UNION(a, ARRAY[9]); MAP_KEYS(MAP['a', 1]); MAP_VALUES(MAP['a', 1]); CARDINALITY(ARRAY[i, j, 3]); ARRAY['a', 'bcd']; ARRAY[1, 2.5]; a[3]; mp['']; mp['zzz']; ARRAY[i, l]; MAP['x', d]; ARRAY_JOIN(ARRAY['a', x], ',', '-'); a[i]; a IS NULL; r IS NULL; r = r; mp IS NOT NULL; (i, x) = (3, 'Hello World'); CAST(ROW(i, x) AS ROW<a BIGINT, b STRING>); ARRAY_EXCEPT(a, ARRAY[1]); ARRAY_INTERSECT(a, ARRAY[1, 5])
    """,
    "several": """
        UPPER(COALESCE(x, y, 'none')) || '!'; CAST(i AS STRING) || ' of ' || CAST(j AS STRING); i * 2 + j; (i + j) * 2; i + j * 2; CASE WHEN d > 100 THEN 'large' WHEN d > 1 THEN 'middle' ELSE 'small' END; ROUND(d * 1.1, 2); CAST(d AS INT) + 1; COALESCE(TRY_CAST(x AS INT), -1); CHAR_LENGTH(TRIM(x)) > 3 AND i > 0; CAST(JSON_VALUE(js, '$.a') AS STRING); TRY_CAST(JSON_VALUE(js, '$.a') AS INT) + 1; SUBSTRING(UPPER(x), 1, 1) || LOWER(SUBSTRING(x, 2)); i + 1 > j AND NOT x LIKE 'H%'; IF(x IS NULL OR x = '', 'empty', x); c * 1.19; CAST(c * 1.19 AS DECIMAL(10, 2)); l / 1000; TO_TIMESTAMP_LTZ(l * 1000, 3); CAST(YEAR(ts) AS STRING) || '-' || LPAD(CAST(MONTH(ts) AS STRING), 2, '0'); DATE_FORMAT(TO_TIMESTAMP_LTZ(l, 0), 'yyyy-MM-dd'); - i * 2; i - -1; 2 * -i; ABS(-5) + SIGN(-2.5)
    """,
}
"""By topic, expressions over the columns, one after the other."""


def expressions() -> list[str]:
    """All of them, each once."""
    found = (part.strip() for text in EXPRESSIONS.values() for part in text.split(";") if part)
    return list(dict.fromkeys(part for part in found if part))
