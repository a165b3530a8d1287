"""Passes: what events do to the structures, and which jobs then start; pure and compiled.

Here: every rule of scheduling, once, for both engines.
Not here: processes, files and draws.
"""
