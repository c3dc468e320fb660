"""Commands of the terminal, in the process of the tests."""

import io
import subprocess
import sys
import warnings

import pytest

from polymargin import cli


def run(*words, cwd, code=0, width=200):
    """A command in this process, as the imports of one of its own take seconds: what it prints, and how it ends."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.resetwarnings()  # the filters of the tests are not those of a user
        warnings.simplefilter("ignore", DeprecationWarning)
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["polymargin", *map(str, words)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", str(width))
        for console in (cli.terminal.out, cli.terminal.err):
            patch.setattr(console, "_width", width)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    done = subprocess.CompletedProcess(words, ended.value.code, out.getvalue(), err.getvalue())
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
