"""``ParameterTool``: as Flink reads the arguments of a program."""

from __future__ import annotations

import pytest

from flinkish import IllegalArgumentError, IllegalStateError, ParameterTool


def test_arguments_with_one_or_two_dashes_flags_and_negative_numbers():
    settings = ParameterTool.fromArgs(
        ["--input", "/in", "-n", "-5", "--verbose", "-rate", "-1.5e3"]
    )
    assert settings.get("input") == "/in"
    assert settings.getInt("n") == settings.getLong("n") == -5
    assert settings.getDouble("rate") == settings.getFloat("rate") == -1500.0
    assert settings.has("verbose")
    assert not settings.getBoolean("verbose")
    assert settings.getNumberOfParameters() == 4


def test_defaults_and_what_is_required():
    settings = ParameterTool.fromMap({"a": "1", "on": "TRUE", "word": "x"})
    assert settings.get("b") is None
    assert (settings.get("b", "c"), settings.getInt("b", 2), settings.getBoolean("b", False)) == (
        "c",
        2,
        False,
    )
    assert settings.getBoolean("on")
    with pytest.raises(IllegalStateError, match="--b to the program"):
        settings.getRequired("b")
    with pytest.raises(IllegalStateError, match="--b to the program"):
        settings.getInt("b")
    with pytest.raises(IllegalArgumentError, match="'word' is 'x', which is no number"):
        settings.getInt("word")


def test_files_and_merging(tmp_path):
    file = tmp_path / "a.properties"
    file.write_text("# a comment\n! another\n\nname = value = more\nn=1\n")
    settings = ParameterTool.fromPropertiesFile(file)
    assert settings.toMap() == {"name": "value = more", "n": "1"}
    merged = settings.mergeWith(ParameterTool.fromArgs(["--n", "2"]))
    assert merged.toMap() == {"name": "value = more", "n": "2"}
    with pytest.raises(IllegalArgumentError, match="no file"):
        ParameterTool.fromPropertiesFile(tmp_path / "none")


@pytest.mark.parametrize("arguments", [["value"], ["--a", "1", "2"], ["--"]])
def test_arguments_without_a_name_are_refused(arguments):
    with pytest.raises(IllegalArgumentError, match="Write --name"):
        ParameterTool.fromArgs(arguments)


def test_properties_are_read_as_java_reads_them(tmp_path):
    """The expected values are those of ``java.util.Properties`` of Java 17."""
    file = tmp_path / "a.properties"
    file.write_text(
        "a=1\nb:two\nc three words\n  d  =  padded \nlong = one, \\\n    two, \\\n    three\n"
        "u = M\\u00fcnchen\nkey\\ with\\:signs = x\\ty\\nz\\\\\nempty\nempty2=\n"
        "# comment \\\n! another\ne = a\\\\\nf = b\n"
    )
    assert ParameterTool.fromPropertiesFile(file).toMap() == {
        "a": "1",
        "b": "two",
        "c": "three words",
        "d": "padded ",
        "e": "a\\",
        "empty": "",
        "empty2": "",
        "f": "b",
        "key with:signs": "x\ty\nz\\",
        "long": "one, two, three",
        "u": "München",
    }
