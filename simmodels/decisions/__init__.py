"""Decisions: pure compiled passes over arrays; they know neither SimPy nor files nor randomness."""
