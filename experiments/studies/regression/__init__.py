"""Regression: the evaluation of orders that are learned by regression from permutation trials.

`study` is the design and its cells, `settings` what it varies, `learning` what it learns, `results` what is asked of
its results, `claims.csv` the sentences of the paper as rows, `claims` on how many workloads each holds, `paper` which
paper it is and what that shows and prints, `figures` how it is drawn.
"""
