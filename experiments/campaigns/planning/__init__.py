"""Planning: which study a text stands for, its cells, and the names under which their results are kept.

Here belongs what is known before a cell is run: where a study comes from, what a file declares, and which code and
inputs its cells depend on; nothing here knows how cells are run, or what is in a folder.
"""
