"""Stores: where sessions are kept, behind :class:`actors.ports.store.EventStore`.

``open`` is the door. ``memory`` keeps sessions in this process. ``sqlite`` keeps them in one file:
``handover`` brings callers and worker threads together, ``committer`` and ``readers`` are the
workers, ``writes``, ``transaction`` and ``reading`` are what they do to the database, ``schema`` and
``ownership`` decide who may do it.

Source: design 7.
"""
