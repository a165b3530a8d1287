"""Structures: the states of a queue, of a placer's machines and of an auction, and the containers they are made of.

Here: what passes read and change.
Not here: decisions.
"""
