"""One module for each scenario; each has a ``measure`` that returns an outcome."""
