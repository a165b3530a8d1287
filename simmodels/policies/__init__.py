"""Policies: what a user names and chooses, as plain descriptions: orders, bids, strategies, options."""
