"""Replay: the compiled engine, for queues, placers and auctions, on pools of cores and on changing machines.

Here: event loops around the passes that the entities call too, and how they stop and go on.
Not here: a rule of its own.
"""
