"""Capacity: the evaluation of risk-aware scheduling where machines are switched on and off.

`study` is the design and its cells, `settings` what it varies, `results` what is asked of its results, `claims.csv` the
sentences of the paper as rows, `measures` what no column has, `paper` what the paper shows, `figures` how it is drawn.
"""
