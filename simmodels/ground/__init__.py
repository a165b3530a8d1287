"""The ground: numbers, instants, files, compiled code; it knows nothing of jobs."""
