"""Learning: orders from simulated trials.

Here: pairs of jobs, permutations run and scored, polynomials fitted to the scores.
Not here: strategies that learn while a queue runs (`policies.selection`).
"""
