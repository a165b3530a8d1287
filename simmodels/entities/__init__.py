"""Entities: the models as processes of SimPy, which lives here and nowhere else.

Here: what a script puts together, subclasses and observes: sources, schedulers, routers, clusters, machines.
Not here: how a decision is made (`passes`).
"""
