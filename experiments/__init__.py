"""Experiments: what comes out of the models, as tables, files, figures and answers on the command line.

Its modules are imported one by one (``from experiments.figures import gantt``): this facade imports
nothing, so that ``python -m experiments --help`` need not wait for compilers and plots.
"""
