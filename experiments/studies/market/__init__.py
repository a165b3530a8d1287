"""Market: the evaluation of bidding policies for workflows on clusters of kinds.

`study` is the design and its cells, `results` what is asked of its results, `claims` the sentences of the paper as
rows, `measures` what no column has, `paper` the paper's figures and numbers, `figures` how they are drawn.
"""
