"""Docstrings in Google style say what a tool and its parameters are for."""

from runtime.tools.docstrings import read_docstring


def test_summary_and_body_are_the_description() -> None:
    text = """Look up the weather.

    The forecast is for noon.
      - indented lines stay as they are

    Returns:
        A forecast.
    """

    assert read_docstring(text).description == (
        "Look up the weather.\n\nThe forecast is for noon.\n  - indented lines stay as they are"
    )


def test_a_parameter_may_have_a_type_several_lines_and_colons() -> None:
    text = """Do it.

    Args:
        city (str): name: and country,
            in English.
        days: how many.

        *rest: never mind.

    Raises:
        LookupError: days: are unknown.
    """

    assert read_docstring(text).parameters == {
        "city": "name: and country, in English.",
        "days": "how many.",
        "rest": "never mind.",
    }


def test_text_behind_a_section_belongs_to_the_body_again() -> None:
    text = """Do it.

    Args:
        a: one.

    And remember this.
    """

    assert read_docstring(text).description == "Do it.\n\nAnd remember this."


def test_a_line_that_only_looks_like_a_section_is_text() -> None:
    text = """Do it.

    Beware: this is no section.
    Careful:
        neither is this.
    """

    assert "Careful:\n    neither is this." in read_docstring(text).description


def test_no_docstring_says_nothing() -> None:
    assert read_docstring(None).description == ""
    assert read_docstring("").parameters == {}
