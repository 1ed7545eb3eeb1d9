"""Measurements as records, and how they are shown: on the terminal, as JSON lines, as one HTML page."""
