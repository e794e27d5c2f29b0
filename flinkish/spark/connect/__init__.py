"""Sessions of Spark Connect, whose driver is a server elsewhere: what is asked of it, and what runs there.

It may import ``api`` alone, as what runs there is to be imported quickly.
"""
