"""Doors to the engine for programs elsewhere. A face is a projection of the log and a way to the mailbox.

It owns no state that the log does not have.
"""
