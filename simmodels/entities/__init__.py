"""Entities: SimPy lives here and nowhere else."""
