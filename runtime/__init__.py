"""Where the actors meet the world. The public door is ``runtime.open_engine``."""
