"""Tools for conversations in the terminal."""

from runtime.tools.functions import tool


@tool(effect="write")
async def note_down(text: str) -> str:
    """Write something down."""
    return f"noted: {text}"
