"""The command ``greenroom``: it speaks to the engine as any embedding program does."""
