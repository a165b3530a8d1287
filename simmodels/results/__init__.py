"""Results: the schedule that was made, what it is made of, and what follows from it.

Here: attempts, metrics, proof of legality, tables, and schedules that need no simulation: as a log says, as HEFT plans.
Not here: anything that decides during a simulation.
"""
