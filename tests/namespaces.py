"""Commands that run apart from the rest of the system."""

import shutil
import subprocess


def namespace(kind):
    """How to run a command without a network ("net") or with the right to mount ("mount"), if the system allows it."""
    words = ["unshare", "--map-root-user", f"--{kind}"]
    if not shutil.which(words[0]) or subprocess.run([*words, "true"], capture_output=True).returncode:
        return None
    return words
