"""The composition root and the public door for embedding: everything it offers is in :mod:`runtime`."""
