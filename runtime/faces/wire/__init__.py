"""The protocol that every face speaks: requests, frames, cursors, and what one client sees of a session."""
