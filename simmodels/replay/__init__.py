"""Replay: the compiled clock, for rigid jobs on one pool of cores."""
