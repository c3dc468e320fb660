"""The command `polymargin`, and `python -m polymargin`, which say in one sentence if their packages are missing."""

import sys


def main() -> None:
    try:
        from .cli import main as run
    except ImportError as error:
        sys.exit(f'polymargin: the command line needs the package {error.name}: pip install "polymargin[cli]"')
    run()


if __name__ == "__main__":
    main()
