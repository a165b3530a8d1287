"""Benchmarks: what a simulation costs, in seconds and memory; run by `make bench`."""
