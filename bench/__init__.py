"""Measurements, as ratios against bare machinery in the same run."""
