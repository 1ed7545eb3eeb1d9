"""Models: what answers requests. Each implements :mod:`actors.ports.model`."""
