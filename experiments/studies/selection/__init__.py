"""Selection: the evaluation of EASY's order chosen online, by simulation or by a bandit, on resampled logs.

`study` is the design and its cells, `settings` what it varies, `results` what is asked of its results, `claims.csv` the
sentences of the paper as rows, `statistics` what no column has, `paper` which paper it is and what that shows and
prints, `figures` how it is drawn.
"""
