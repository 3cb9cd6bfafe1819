"""The command line as a whole: help, dispatch, exit codes of usage errors, defects."""

from __future__ import annotations

import errno
import importlib
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Runner
from vplacer.cli import failure
from vplacer.cli.commands import TREE, Branch, Leaf, leaves, load
from vplacer.errors import InternalError, VplacerError

LEAVES = {" ".join(path): (path, leaf) for path, leaf in leaves()}


@pytest.mark.parametrize("name", LEAVES)
def test_each_command_stands_by_its_line_of_help(name: str) -> None:
    """The line in the tree is what the group's help shows; the command's own help starts from it."""
    path, leaf = LEAVES[name]
    command = load(path[-1], leaf)
    assert command.name == path[-1]
    assert leaf.help.endswith(".")
    assert command.help
    assert command.epilog.count("vplacer ") >= 2, "two examples each"


@pytest.mark.parametrize("name", LEAVES)
def test_help_of_each_command(name: str, vplacer: Runner) -> None:
    outcome = vplacer(f"{name} --help")
    # click writes help itself, to the process's output
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("name", LEAVES)
def test_examples_of_the_help_name_options_there_are(name: str, vplacer: Runner) -> None:
    path, leaf = LEAVES[name]
    for line in load(path[-1], leaf).epilog.splitlines():
        words = line.split(">")[0].split("|")[0].strip().removeprefix('eval "$(').removesuffix(')"').split()
        assert words[0] == "vplacer", line
        # Parsed with all else, then the help is shown instead of running it.
        assert vplacer([*words[1:], "--help"]).code == 0, line


@pytest.mark.parametrize("name", ["", "topology", "request", "lab", "config"])
def test_examples_of_groups(name: str, vplacer: Runner) -> None:
    branch: Branch = TREE
    if name:
        found = TREE.children[name]
        assert isinstance(found, Branch)
        branch = found
    assert len(branch.examples) >= 2
    for line in branch.examples:
        words = line.split()
        assert words[:2] == ["vplacer", name or words[1]]
        assert vplacer([*words[1:], "--help"]).code == 0, line
    shown = vplacer(name).err
    assert all(f"  {line}\n" in shown for line in branch.examples)


def test_help_names_every_environment_variable() -> None:
    for path, leaf in leaves():
        command = load(path[-1], leaf)
        context = click.Context(command, auto_envvar_prefix="_".join(("VPLACER", *path)).upper())
        for param in command.get_params(context):
            if isinstance(param, click.Option) and "--help" not in param.opts:
                record = param.get_help_record(context)
                assert record is not None
                assert "VPLACER_" in record[1], (path, param.name)


def test_help_of_schema_lists_the_formats(vplacer: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    from vplacer.cli.schema import FORMATS

    vplacer("schema --help")
    shown = capsys.readouterr().out
    assert all(name in shown.split("Options")[0] for name in FORMATS)


def test_a_wrong_variable_is_named(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPLACER_PLAN_WORK", "much")
    outcome = vplacer("plan -r x --lab y")
    assert outcome.code == 3
    assert "  set by the environment variable VPLACER_PLAN_WORK\n" in outcome.err
    assert "VPLACER_PLAN_WORK" not in vplacer("plan -r x --lab y --work many").err


def test_one_positional_argument_at_most() -> None:
    for path, leaf in leaves():
        arguments = [p for p in load(path[-1], leaf).params if isinstance(p, click.Argument)]
        assert len(arguments) <= 1, path


def test_no_option_takes_a_password() -> None:
    for path, leaf in leaves():
        for param in load(path[-1], leaf).params:
            takes_text = isinstance(param, click.Option) and not param.is_flag
            assert not (takes_text and "--password" in param.opts), path


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ("pla", "No such command 'pla'. Did you mean 'plan'?", "vplacer --help"),
        ("lab serv x", "No such command 'serv'. Did you mean 'serve'?", "vplacer lab --help"),
        ("plan -r x --form text", "No such option", "vplacer plan --help"),
        ("plan --lab nvswitch", "nothing to plan: no request was given", "--evacuate HOST"),
        ("plan --lab nvswitch --may-move x", "nothing to plan: no request was given", "--request"),
        ("plan --lab nvswitch --evacuate esx1", "esx1: no host has this name", "did you mean esx01"),
        ("plan --lab nvswitch --evacuate 'x*'", "no host fits this pattern: given with --evacuate", "esx01"),
        ("plan --lab nvswitch --repair --may-move x", "x: no VM has this name", "given with --may-move"),
        ("plan --lab nvswitch --repair --evacuate-powered-off", "says nothing without --evacuate", "HOST"),
        ("plan --repair --lab y --max-moves -1", "-1 is not in the range x>=0", "vplacer plan --help"),
        ("schema plans", "'plans' is not one of", "vplacer schema --help"),
        ("plan -r x --now yesterday --lab y", "'yesterday' is no time", "vplacer plan --help"),
        ("topology show", "Missing argument 'HOST'", "vplacer topology show --help"),
        ("collect -o x", "where should the inventory come from?", "--lab nvswitch"),
        ("collect -o x --lab a --from b", "--from and --lab exclude each other", "give one source"),
        ("collect -o x --lab a --insecure", "--insecure goes with --vcenter only, not with --lab", ""),
        ("collect -o x --from a --record b", "--record records a session with a vCenter", "--lab"),
        ("plan -r x --lab y --time-limit 0", "0.0 is not in the range x>0", "vplacer plan --help"),
        ("plan -r x --lab y --time-limit -1", "-1.0 is not in the range x>0", "vplacer plan --help"),
        ("plan -r x --lab y --time-limit nan", "nan is no number of seconds", "vplacer plan --help"),
        ("plan --dry-run -o p.json -r x --lab y", "exclude each other", "leave one out"),
    ],
)
def test_bad_usage(arguments: str, message: str, hint: str, vplacer: Runner) -> None:
    outcome = vplacer(arguments)
    assert (outcome.code, outcome.out) == (3, "")
    assert message in outcome.err
    assert hint in outcome.err


@pytest.mark.parametrize("arguments", ["", "lab", "topology"])
def test_a_group_alone_shows_its_help(arguments: str, vplacer: Runner) -> None:
    outcome = vplacer(arguments)
    assert outcome.code == 3
    assert "Commands:" in outcome.err


def test_a_defect_names_itself_one(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise ZeroDivisionError("division by zero\nsecond line")

    monkeypatch.setattr("vplacer.jobs.lab.list_sites", broken)
    outcome = vplacer("lab list")
    assert outcome.code == 1
    assert outcome.err == (
        "Error: ZeroDivisionError: division by zero\n"
        "  This is a defect of vplacer, not of your input.\n"
        "  next: run it again with --debug and report what that prints\n"
    )


@pytest.mark.parametrize("arguments", ["--debug lab list", "lab list --debug"])
def test_debug_shows_the_traceback(arguments: str, vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise InternalError("two and two is five")

    monkeypatch.setattr("vplacer.jobs.lab.list_sites", broken)
    with pytest.raises(AssertionError, match=r"(?s)Traceback.*two and two is five.*report it with the lines"):
        vplacer(arguments)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 1, "Error: /x: No space left on device\n"),
        (MemoryError(), 1, "Error: this machine has not enough memory for it\n"),
    ],
)
def test_conditions_of_the_machine_are_no_defects(
    error: BaseException, code: int, message: str, vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list[str]:
        raise error

    monkeypatch.setattr("vplacer.jobs.lab.list_sites", broken)
    outcome = vplacer("lab list")
    assert (outcome.code, outcome.err.lstrip()) == (code, message)


def subclasses(kind: type[VplacerError]) -> list[type[VplacerError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in subclasses(child))]


def test_exit_codes_of_the_errors_are_those_of_the_table() -> None:
    codes = {1, failure.BAD_USAGE, failure.UNDECIDED, failure.STALE, failure.STOPPED}
    assert {kind.exit_code for kind in subclasses(VplacerError)} == codes


def test_modules_of_the_tree_exist() -> None:
    def walk(branch: Branch) -> None:
        for entry in branch.children.values():
            if isinstance(entry, Leaf):
                assert isinstance(
                    importlib.import_module(f"vplacer.cli.{entry.module}").command, click.Command
                )
            else:
                walk(entry)

    walk(TREE)


def test_every_error_is_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
    leaves_only = [kind.__name__ for kind in subclasses(VplacerError) if not kind.__subclasses__()]
    assert [name for name in leaves_only if f"`{name}`" not in text] == []
