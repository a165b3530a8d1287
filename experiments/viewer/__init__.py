"""Viewer: a schedule as one HTML page to pan, zoom and search, or as a trace for Perfetto."""
