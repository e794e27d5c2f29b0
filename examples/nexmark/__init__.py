"""Nexmark, the benchmark of stream processing: people who sell things at auctions, and their bids.

``python -m examples.nexmark --query 5 --events 1000000``
"""
