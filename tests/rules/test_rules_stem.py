"""What a command is, and whether an entry covers it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rules.stem import allows, command_stem, forbids


@pytest.mark.parametrize(
    ("command", "stem"),
    [
        ("git status", "git status"),
        ("git status x y", "git status"),
        ("ls", "ls"),
        ("ls --help", "ls"),
        ("git -h status", "git status"),
        ("FOO=1 BAR=2 git log", "git log"),
        ("/usr/bin/git status", "git status"),
        ("sh -lc 'git diff a'", "git diff"),
        ('bash -c "git diff"', "git diff"),
        ("bash -c git status", "git status"),
    ],
)
def test_a_plain_command_has_a_stem(command, stem):
    assert command_stem(command) == stem


@pytest.mark.parametrize(
    "command",
    ["", "   ", "FOO=1", "bash -c", "git status --short", "git push -f"]
    + [f"git status{mark}x" for mark in "\r\n|&;<>()`$'\""],
)
def test_flags_and_shell_syntax_leave_no_stem(command):
    assert command_stem(command) is None


@given(st.text(alphabet=" ab-/='\"\\;|&$(){}\n", max_size=20))
def test_a_stem_is_one_or_two_words_without_syntax(command):
    stem = command_stem(command)
    if stem is not None:
        assert 1 <= len(stem.split()) <= 2
        assert not set(stem) & set("'\";|&$()\n")


@pytest.mark.parametrize(
    "command",
    [
        "A=1;evil git status",
        "A=$(evil) git status",
        "PATH=. git status",
        "LD_PRELOAD=./x.so git status",
        "GIT_PAGER=evil git status",
        "git status; evil",
        "git status\nevil",
        "git status --output=x",
        "sh -c 'git status' 'x'; evil",
        "evil git status",
        "gits tatus",
    ],
)
def test_an_allow_never_covers_what_runs_something_else(command):
    assert not allows("git status", command)


def test_an_allow_covers_its_command_with_harmless_settings():
    assert allows("git status", "LANG=C git status src")
    assert allows("git", "git status")
    assert not allows("git status now", "git status now")
    assert not allows("", "git status")


WRAPS = [
    "{}",
    "FOO=1 {}",
    "env {}",
    "env -i {}",
    "sudo {}",
    "sudo -u root {}",
    "nohup {} &",
    "! {}",
    "time {}",
    "sh -c '{}'",
    'bash -lc "{}"',
    "ls | {}",
    "ls; {}",
    "ls && {}",
    "ls\n{}",
    "( {} )",
    "{{ {}; }}",
    "echo $({})",
    "echo `{}`",
    "if true; then {}; fi",
    "X=$({}) ls",
    "find . -exec {} +",
    "> out {}",
    "xargs {}",
]
SPELLINGS = ["rm", "/bin/rm", "\\rm", "'rm'", '"rm"', "r''m", 'r"m"', "r\\m"]


@given(
    st.sampled_from(SPELLINGS),
    st.lists(st.sampled_from(WRAPS), max_size=3),
    st.sampled_from(["", " -rf", " --no-preserve-root", " x", " 'x y'"]),
)
def test_a_deny_cannot_be_escaped_by_flag_pipe_quote_or_wrapper(name, wraps, rest):
    command = name + rest
    for wrap in wraps:
        command = wrap.format(command)
    assert forbids("rm", command)


def test_a_deny_reads_quotes_both_ways():
    assert forbids("rm", 'su -c"rm x"')
    assert forbids("rm", "r''m x")


@pytest.mark.parametrize("flags", ["", " -C /x", " --git-dir=/x", " -c a=b"])
def test_a_deny_of_two_words_sees_past_flags_between_them(flags):
    assert forbids("git push", f"git{flags} push origin")


@pytest.mark.parametrize(
    "command", ["git log", "ls rm", "grep push git", "git log push", "rmdir x", "echo done"]
)
def test_a_deny_leaves_plain_other_commands_alone(command):
    assert not forbids("rm", command)
    assert not forbids("git push", command)


@given(st.sampled_from(["rm", "rm x"]), st.text(alphabet="rmx -;'", max_size=12))
def test_what_a_deny_covers_by_its_stem_an_allow_would_cover_too(pattern, command):
    if allows(pattern, command):
        assert forbids(pattern, command)
