"""``python -m workbench`` is ``workbench``."""

from workbench.cli import app

app()
