from .command import app

app(prog_name="python -m polymargin.papers")
