"""Advice: which order, and which threshold, would have been best on a log of one's own.

`study` is the design and its cells, `settings` what is tried, `verdict` whether to change, `answer` the lines that say
so, `results` what is asked of the results, with its tables, `figures` how the front is drawn.
"""
