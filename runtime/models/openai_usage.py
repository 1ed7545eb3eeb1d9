"""Token counts where the provider counts cached tokens as input, as OpenAI does. Pure."""

from actors.json import JsonObject


def token_counts(
    total_input: int, read: int, written: int, output: int, reasoning: int
) -> JsonObject:
    """Return the counts in the words of the log: ``input`` came from no cache, ``output`` holds ``reasoning``."""
    return {
        "input": max(total_input - read - written, 0),
        "output": output,
        "cacheRead": read,
        "cacheWrite": written,
        "reasoning": reasoning,
        "totalTokens": total_input + output,
    }
