"""Code for the Python processes of a server of Spark Connect, and the objects that are sent to
them.

It may import ``api`` alone, so that those processes import it quickly.
"""
