"""Forecasts: whether jobs of logs start when forecasts say, on the second halves of logs.

`study` is the design and its cells.
"""
