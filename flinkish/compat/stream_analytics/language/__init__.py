"""The query language: from its text to streams."""
