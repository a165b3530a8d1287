"""The ground: numbers, instants, random streams, files, compiled code, packages that import late.

Here: what any program could use. Not here: whatever knows what a job or a cluster is.
"""
