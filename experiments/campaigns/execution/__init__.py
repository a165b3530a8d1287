"""Execution: how cells that are to be done are run, in batches, on workers, and what happens when one dies.

Here belongs what a worker does, how it is started, reached and ended, and the loop that feeds it; nothing here knows
what is kept in a folder beside the store, or what is reported.
"""
