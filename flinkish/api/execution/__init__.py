"""The running job as its user sees it, ``JobClient``, and the executor that an engine implements.

It may import the modules of ``api`` itself, and no folder.
"""
