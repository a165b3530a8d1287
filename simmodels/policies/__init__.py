"""Policies: what a user names and chooses: orders, bids, strategies, options.

Here: plain descriptions, each option defined once, and how a user's own function is compiled.
Not here: what is done with them (`passes`).
"""
