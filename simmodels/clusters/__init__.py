"""Clusters: what work runs on, as descriptions that both engines and the proofs read.

Here: a cluster's cores or machines, how many of these are on over time, how jobs write checkpoints there, what power
costs. Not here: the processes that run jobs (`entities`).
"""
