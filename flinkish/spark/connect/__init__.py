"""What runs in the Python processes of a server of Spark Connect, and what is sent to them.

It may import ``api`` alone, as what runs there is to be imported quickly.
"""
