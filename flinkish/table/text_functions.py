"""String functions, with Java's characters and Flink's positions."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.table.expressions import Call, Missing, RowByRow, Values


def substring(text: str, start: int, length: int | None = None) -> str | None:
    """The part from ``start``, which counts from 1, or from the end if it is negative."""
    if length is not None and length < 0:
        return None
    count = len(text)
    begin = start - 1 if start > 0 else count + start if start < 0 else 0
    if begin >= count:
        return ""
    if begin < 0:
        return ""
    return text[begin : None if length is None else begin + length]


def position(part: str, text: str, start: int = 1) -> int:
    """The position of ``part`` in ``text``, counted from 1; 0 if it does not occur."""
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1


def instr(text: str, part: str) -> int:
    return text.find(part) + 1


def left(text: str, count: int) -> str:
    return text[:count] if count > 0 else ""


def right(text: str, count: int) -> str:
    return text[-count:] if count > 0 else ""


def trim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def ltrim(text: str, characters: str = " ") -> str:
    return text.lstrip(characters) if characters else text


def rtrim(text: str, characters: str = " ") -> str:
    return text.rstrip(characters) if characters else text


def replace(text: str, part: str, by: str) -> str:
    return text.replace(part, by)


def reverse(text: str) -> str:
    return text[::-1]


def repeat(text: str, count: int) -> str:
    return text * count


def _pad(text: str, length: int, by: str) -> tuple[str, str] | None:
    if length < 0 or by == "":
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length], ""
    return text, (by * (missing // len(by) + 1))[:missing]


def lpad(text: str, length: int, by: str) -> str | None:
    padded = _pad(text, length, by)
    return None if padded is None else padded[1] + padded[0]


def rpad(text: str, length: int, by: str) -> str | None:
    padded = _pad(text, length, by)
    return None if padded is None else padded[0] + padded[1]


def initcap(text: str) -> str:
    letters, before = [], False
    for letter in text:
        letters.append(letter.lower() if before else letter.upper())
        before = letter in string.ascii_letters + string.digits
    return "".join(letters)


def ascii_code(text: str) -> int:
    if not text:
        return 0
    code = text.encode()[0]
    return code - 256 if code > 127 else code


def character(code: int) -> str:
    return chr(code % 256) if code >= 0 else ""


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    if separator is None:
        return None
    return separator.join(text for text in texts if text is not None)


def overlay(text: str, by: str, start: int, length: int | None = None) -> str:
    length = len(by) if length is None else length
    if start <= 0 or start > len(text):
        return text
    begin = start - 1
    if length < 0:
        return text[:begin] + by
    return text[:begin] + by + text[begin + length :]


def split_index(text: str, separator: str | int, index: int) -> str | None:
    separator = chr(separator) if isinstance(separator, int) else separator
    if index < 0 or not text:
        return None
    parts = text.split(separator) if separator else re.split(r"\s", text)
    return parts[index] if index < len(parts) else None


def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


def to_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except binascii.Error:
        raise Missing(f"{text!r} is not base 64") from None


def _hash(name: str) -> Callable[[str], str]:
    def digest(text: str) -> str:
        return hashlib.new(name, text.encode()).hexdigest()

    return digest


md5, sha1, sha224 = _hash("md5"), _hash("sha1"), _hash("sha224")
sha256, sha384, sha512 = _hash("sha256"), _hash("sha384"), _hash("sha512")


def url_encode(text: str) -> str:
    return quote_plus(text, safe="*")


def is_decimal(text: str | None) -> bool:
    return text is not None and _DECIMAL.fullmatch(text) is not None


def is_digit(text: str | None) -> bool:
    return bool(text) and all(letter.isdigit() for letter in text or "")


def is_alpha(text: str | None) -> bool:
    return bool(text) and all(letter.isalpha() for letter in text or "")


_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")


def upper(call: Call, values: Values) -> Values:
    return _by_case(values, pc.ascii_upper, str.upper)


def lower(call: Call, values: Values) -> Values:
    return _by_case(values, pc.ascii_lower, str.lower)


def _by_case(values: Values, plain: Callable[[Any], Any], full: Callable[[str], str]) -> Values:
    if isinstance(values, pa.Scalar):
        text = values.as_py()
        return pa.scalar(None if text is None else full(text), pa.string())
    if pc.all(pc.string_is_ascii(values)).as_py() is not False:
        return plain(values)
    # Arrow maps each character to one, Java maps some to several
    return pa.array(
        [None if text is None else full(text) for text in values.to_pylist()], pa.string()
    )


def char_length(call: Call, values: Values) -> Values:
    return pc.utf8_length(values).cast(pa.int32())


def concat(call: Call, *values: Values) -> Values:
    return pc.binary_join_element_wise(*values, pa.scalar(""))


# ---------------------------------------------------------------------- patterns

_NOT_JAVA = re.compile(r"&&|\[\[|\(\?P|\\[QERhHVX]|\\p\{|\\P\{|\\G|\\z|\\A|\\Z")


@lru_cache(maxsize=256)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """A Java regular expression, compiled. Raises Missing for syntax that means something else in
    Python."""
    if _NOT_JAVA.search(pattern):
        raise Missing(
            f"the pattern {pattern!r} has something that Python's regular expressions lack or read in another way"
            " (&&, [[, \\p{...}, \\Q...\\E and the like). Write it without, or use map"
        )
    return re.compile(pattern, re.ASCII)


def regexp(text: str, pattern: str) -> bool:
    try:
        return bool(pattern) and java_pattern(pattern).search(text) is not None
    except re.error:
        raise Missing(f"{pattern!r} is not a regular expression") from None


def regexp_replace(text: str, pattern: str, by: str) -> str | None:
    """``REGEXP_REPLACE``: the replacement is literal, without references to groups, as in Flink."""
    try:
        return java_pattern(pattern).sub(lambda _: by, text)
    except re.error:
        return None


def regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    try:
        found = java_pattern(pattern).search(text)
    except re.error:
        return None
    if found is None or not 0 <= group <= found.re.groups:
        return None
    return found[group]


@lru_cache(maxsize=256)
def _like(pattern: str, escape: str | None) -> re.Pattern[str]:
    parts, position = [], 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == escape:
            position += 1
            if position == len(pattern) or pattern[position] not in ("_", "%", escape):
                raise Missing(f"the pattern {pattern!r} has {escape!r} before neither % nor _")
            parts.append(re.escape(pattern[position]))
        else:
            parts.append({"%": ".*", "_": "."}.get(letter, re.escape(letter)))
        position += 1
    return re.compile("".join(parts), re.DOTALL)


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    return _like(pattern, escape).fullmatch(text) is not None


_LIKE = RowByRow(like)
_PLAIN_LIKE = re.compile(r"%?[^%_\\\n]*%?")


def like_kernel(call: Call, texts: Values, pattern: Values, *escape: Values) -> Values:
    """``LIKE``: with Arrow if the pattern is a constant that Arrow interprets in the same way."""
    if not escape and isinstance(pattern, pa.Scalar) and not isinstance(texts, pa.Scalar):
        text = pattern.as_py()
        if text is not None and _PLAIN_LIKE.fullmatch(text):
            part = text.strip("%")
            if text.startswith("%") and text.endswith("%") and len(text) > 1:
                return pc.match_substring(texts, part)
            if text.endswith("%"):
                return pc.starts_with(texts, part)
            return pc.ends_with(texts, part) if text.startswith("%") else pc.equal(texts, part)
    return _LIKE(call, texts, pattern, *escape)


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError:
        return None
    if part == "QUERY" and key is not None:
        match = re.search(f"(?:^|&){re.escape(key)}=([^&]*)", found.query)
        return match[1] if match else None
    host = found.hostname if found.hostname else None
    authority = found.netloc or None
    user = found.netloc.rpartition("@")[0] or None
    file = found.path + (f"?{found.query}" if found.query else "")
    del port
    parts = {
        "HOST": host,
        "PATH": found.path,
        "QUERY": found.query or None,
        "REF": found.fragment or None,
        "PROTOCOL": found.scheme or None,
        "FILE": file,
        "AUTHORITY": authority,
        "USERINFO": user,
    }
    return parts.get(part)


def url_decode(text: str) -> str | None:
    return unquote_plus(text)
