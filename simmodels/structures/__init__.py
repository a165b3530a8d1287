"""Structures: what a queue, a fleet of machines and an auction are, and the containers that they are made of."""
