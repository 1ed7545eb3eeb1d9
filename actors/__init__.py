"""Actors that own the fold of a session's event log. Knows no vendor, disk or socket."""
