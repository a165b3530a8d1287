"""Viewer: a schedule as one HTML page in which one can pan, zoom and search."""
