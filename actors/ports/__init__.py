"""What the actors need of the world, as Protocols. Implementations live in ``runtime``, fakes in ``actors.testing``.

All ports promise: if ``trio.Cancelled`` is raised, nothing was written; blocking work runs in a thread
that is awaited, never abandoned; nothing raises errors outside the tree of :mod:`actors.errors`.

Source: design 6.
"""
