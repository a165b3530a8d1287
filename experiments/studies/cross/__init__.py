"""Cross: orders, deciders, changing machines and workloads, crossed; and routers over two clusters.

`study` is the design and its cells, `settings` what it varies, `work` what is run, `run` one run of it, `results` what
is asked of its results, `claims.csv` the answers to its questions as rows, `figures` how they are drawn.
"""
