"""Mailbox, reply, ref, actor, supervision and feed: trio machinery that knows no session.

Source: design 5, design 6.
"""
