"""Forecasts: whether jobs of logs start when forecasts say, on the second halves of logs.

`study` is the design and its cells, `results` what is asked of its results, `claims.csv` what is expected as rows,
`figures` how it is drawn.
"""
