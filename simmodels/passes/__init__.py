"""Passes: what events do to the structures, and which jobs then start; compiled, without processes, files or draws."""
