"""Checks the Java that Spark starts: whether it exists and is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from flinkish.api.errors import JavaNotFoundError

OLDEST_JAVA = 17


def check_java() -> str:
    """The output of ``java -version``. Raises JavaNotFoundError without a Java new enough."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and there is none"
            f" {f'in JAVA_HOME={home}' if home else 'on the PATH'}: install one (Debian: apt install"
            " openjdk-17-jre-headless) or set JAVA_HOME to it."
        )
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if found is None:
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} does not tell its version. What it prints:"
            f" {output.strip()[:500]!r}. Correct JAVA_TOOL_OPTIONS if it is about options, or set JAVA_HOME to"
            f" a Java {OLDEST_JAVA}."
        )
    major, minor = found.groups()
    version = int(minor or 0) if major == "1" else int(major)
    if version < OLDEST_JAVA:
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {version}:"
            f" install Java {OLDEST_JAVA} or set JAVA_HOME to one."
        )
    return output
