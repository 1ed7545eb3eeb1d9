"""The PostgreSQL store, an extra: sessions in a database that many machines reach.

``opening`` is the door, ``store`` implements the port. ``writer`` and ``reader`` are the workers
(``serving`` leads them, ``link`` is their connection); ``transaction`` and ``staging`` make the one
statement that a group of appends is; ``ownership`` decides who may write; ``doubt`` finds out what a lost
connection had done. What is rare (deleting, blobs, search) is the same SQL as for SQLite, through
``portable``.

It needs sessions of its own at the server: a pooler in between must not share connections by transaction.

Source: design 7, design 10.
"""
