"""The bill of materials (CycloneDX) of an environment that holds the wheel: python .ci/sbom.py its-python file.

cyclonedx-bom lists what is installed there. nanobind is added: it is compiled into the wheel and installed nowhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

python, file = sys.argv[1:]
tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", "pyproject.toml", "--output-reproducible"]
bill = json.loads(subprocess.run([*tool, python], check=True, capture_output=True, text=True).stdout)
tools = (Path(__file__).parent / "build-tools.txt").read_text()
version = re.search(r"^nanobind==(\S+)", tools, re.MULTILINE)[1]
bill["components"].append(
    {
        "type": "library",
        "name": "nanobind",
        "version": version,
        "bom-ref": f"nanobind=={version}",
        "purl": f"pkg:pypi/nanobind@{version}",
        "licenses": [{"license": {"id": "BSD-3-Clause"}}],
        "description": "Compiled into the extension module.",
    }
)
Path(file).write_text(json.dumps(bill, indent=2) + "\n")
print(f"{file}: {len(bill['components'])} components")
