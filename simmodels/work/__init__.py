"""Work: what is to be run, whatever it runs on: jobs, workflows and their graphs.

Here: columns and records of jobs, what jobs are worth, which of them are in a window, and the words for what may be
known of them. Not here: clusters, decisions, and what became of a job.
"""
