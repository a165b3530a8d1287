"""Market: the evaluation of bidding policies for workflows on clusters of kinds.

`study` is the design and its cells, `settings` what it varies, `results` what is asked of its results, `claims.csv` the
sentences of the paper as rows, `measures` what no column has, `paper` what the paper shows, `figures` how it is drawn.
"""
