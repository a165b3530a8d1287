"""Structures: what a queue, a placer's machines and an auction are, and the containers that they are made of."""
