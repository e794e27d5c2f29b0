"""The types of elements, rows, and the fields in them.

It may import the modules of ``api`` itself, and no folder.
"""
