"""The session actor, its turn, its calls, its asks; and the supervisor of sessions.

``stage`` keeps the sessions; ``actor`` serves one; ``desk`` says what each message does; ``inputs`` owns the
queue and the running ``turn``; ``batch``, ``call`` and ``gate`` run tools; ``asks`` is the one table of asks.
"""
