"""Tests on a processor that is not there: with AVX-512, in the emulator Bochs.

    python -m campaigns.emulated tests/core/test_scores.py [-k name] [--seconds 0.06] [--bochs program] [--hours 2]

The tests run twice. First here, watched: every file that they open, and every library that these need, goes into an
archive. Then the emulator starts a Linux kernel that has this archive as its only file system, and runs those of them
that took few `seconds` of the processor here; there they take about a hundred times as many. They must find themselves
on AVX-512.

Needs Bochs without a debugger, the packages bochsbios, vgabios, isolinux, syslinux-common and xorriso of Debian, and
apt-get, which fetches the kernel. Bochs 3.0 can be built for this in a quarter of an hour: ./configure
--enable-x86-64 --enable-evex --enable-all-optimizations --enable-long-phy-address --with-nogui --disable-plugins
"""

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
# Runs tests; then writes which files were opened or are mapped into memory, and which tests passed in few seconds.
# Some packages are as if not installed: they take long to load.
WATCHED = """
import os, sys, time
opened, chosen = set(), []
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        opened.add(os.path.abspath(os.fsdecode(arguments[0])))
sys.addaudithook(hook)
import pytest
from polymargin import _core
class Clock:
    def pytest_runtest_logstart(self):
        self.began = time.process_time()
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed and time.process_time() - self.began < float(sys.argv[3]):
            chosen.append(report.nodeid)
print("RUNS ON", _core.simd(), flush=True)
code = pytest.main(sys.argv[4:], plugins=[Clock()])
for module in list(sys.modules.values()):  # some were loaded before the hook
    opened |= {name for name in (getattr(module, "__file__", 0), getattr(module, "__cached__", 0)) if name}
with open("/proc/self/maps") as maps:
    opened |= {line.split(None, 5)[5].strip() for line in maps if "/" in line}
for name, lines in zip(sys.argv[1:3], (sorted(opened), chosen)):
    with open(name, "w") as out:
        out.write("\\n".join(lines))
sys.exit(code)
"""
# Few plugins, and no rewritten assertions: what pytest spends is spent by the emulator.
PYTEST = ["--assert=plain", "-p", "no:cacheprovider", "--color=no", "-v", "-rs"]
VARIABLES = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    # The AVX-512 of other libraries is not what is tested, and NumPy's sorting has instructions that Bochs 3.0 refuses.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
}
# What the first process of the emulated machine does.
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t sysfs sys /sys
exec >/dev/ttyS0 2>&1 </dev/null
cd {project}
{python} /watched.py /opened.txt /passed.txt inf {options} @/chosen.txt
echo ENDS WITH $?
echo o >/proc/sysrq-trigger
sleep 9
"""
BOOT = """default linux
prompt 0
label linux
 kernel /vmlinuz
 append initrd=/archive console=ttyS0,115200 mitigations=off nokaslr tsc=reliable no_timer_check quiet
"""
MACHINE = """config_interface: textconfig
display_library: nogui
cpu: model=corei7_skylake_x, count=1, ips=20000000
memory: guest=1536, host=1536
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0: enabled=1
ata0-master: type=cdrom, path=boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: bochs.txt
clock: sync=none
panic: action=fatal
error: action=ignore
info: action=ignore
"""


def opened_by(tests: list[str], seconds: float, folder: Path) -> set[str]:
    """The files that the tests open, libraries among them, and the programs of INIT with theirs.

    `folder/chosen.txt` names the tests for the emulator.
    """
    listed = folder / "opened.txt"
    watched = [sys.executable, "-c", WATCHED, str(listed), str(folder / "chosen.txt"), str(seconds)]
    done = subprocess.run([*watched, *PYTEST, *tests], cwd=PROJECT, env=os.environ | VARIABLES)
    if done.returncode:
        raise SystemExit(f"the tests do not pass here: pytest ended with {done.returncode}")
    system = ("/proc", "/sys", "/dev", "/tmp")
    found = {path for path in listed.read_text().split("\n") if os.path.isfile(path) and not path.startswith(system)}
    # Python looks at the time of a source file even when it does not read it.
    found |= {re.sub(r"__pycache__/(.*?)\.[^/]*pyc$", r"\1.py", path) for path in found if path.endswith(".pyc")}
    found |= {sys.executable, str(Path(sys.prefix) / "pyvenv.cfg"), "/bin/sh", "/bin/mount", "/bin/sleep"}
    found |= {"/etc/ld.so.cache", "/etc/passwd", str(PROJECT / "pyproject.toml")}
    binaries = [path for path in found if os.access(path, os.X_OK) or ".so" in Path(path).name]
    needed = subprocess.run(["ldd", *binaries], capture_output=True, text=True).stdout
    return {path for path in found | set(re.findall(r"(/[^\s:]+) \(0x", needed)) if os.path.exists(path)}


def with_links(paths: set[str]) -> set[str]:
    """Also the folders, and where symbolic links lead."""
    todo, found = list(paths), set()
    while todo:
        path = todo.pop()
        if path in found or path == "/":
            continue
        found.add(path)
        todo.append(os.path.dirname(path))
        if os.path.islink(path):
            todo.append(os.path.join(os.path.dirname(path), os.readlink(path)))
            todo.append(os.path.realpath(path))
    # What lies behind a link to a folder is kept under its own name only.
    plain = (os.path.split(path) for path in found if "/../" not in path)
    return {os.path.join(os.path.realpath(folder), name) for folder, name in plain}


def write_archive(out: Path, paths: set[str], made: dict[str, str]) -> None:
    """The files, and others with a content that was made.

    The format is cpio, which kernels unpack: a header of hexadecimal numbers, a name, the content, each in
    steps of four bytes.
    """
    with out.open("wb") as file:

        def put(name: str, mode: int, content: bytes, changed: int = 0) -> None:
            about = (file.tell() // 4, mode, 0, 0, 1, changed, len(content), 0, 0, 0, 0, len(os.fsencode(name)) + 1, 0)
            head = b"070701" + b"".join(b"%08x" % number for number in about) + os.fsencode(name) + b"\0"
            file.write(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))

        for path in sorted(paths):  # folders before what is in them
            about, content = os.lstat(path), b""
            if stat.S_ISLNK(about.st_mode):
                content = os.fsencode(os.readlink(path))
            elif stat.S_ISREG(about.st_mode):
                content = Path(path).read_bytes()
            put(path.lstrip("/"), about.st_mode, content, int(about.st_mtime))
        for folder in ("proc", "sys", "dev", "tmp"):
            put(folder, 0o040777, b"")
        for name, text in made.items():
            put(name, 0o100755, text.encode())
        put("TRAILER!!!", 0, b"")


def fetch_kernel(folder: Path) -> Path:
    """Debian's newest kernel, unpacked and not installed."""
    asked = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True)
    name = asked.stdout.partition("Depends: ")[2].split()[0]
    subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, check=True)
    subprocess.run(["dpkg", "-x", next(folder.glob("*.deb")), "kernel"], cwd=folder, check=True)
    return next((folder / "kernel/boot").glob("vmlinuz-*"))


def write_disk(folder: Path, kernel: Path) -> None:
    """A disk that starts the kernel with the archive, which is in `folder/disk` already."""
    disk = folder / "disk"
    shutil.copy(kernel, disk / "vmlinuz")
    shutil.copy("/usr/lib/ISOLINUX/isolinux.bin", disk)
    shutil.copy("/usr/lib/syslinux/modules/bios/ldlinux.c32", disk)
    (disk / "isolinux.cfg").write_text(BOOT)
    boots = "-b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table"
    made = ["xorriso", "-as", "mkisofs", "-quiet", "-o", "boot.iso", *boots.split(), "disk"]
    subprocess.run(made, cwd=folder, check=True)


def emulate(folder: Path, bochs: str, hours: float) -> bool:
    """Starts the machine and prints what it says. True when its tests have passed on AVX-512."""
    (folder / "machine.txt").write_text(MACHINE)
    command = [bochs, "-q", "-f", "machine.txt"]
    serial, shown = folder / "serial.txt", 0
    until = time.monotonic() + 3600 * hours
    with (folder / "bochs.out").open("w") as out:
        machine = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        said = ""
        while machine.poll() is None and time.monotonic() < until and "ENDS WITH" not in said:
            time.sleep(1)
            said = serial.read_text(errors="replace") if serial.exists() else ""
            print(said[shown:], end="", flush=True)
            shown = len(said)
    finally:
        machine.kill()
        machine.wait()
    return "RUNS ON avx512" in said and re.search(r"ENDS WITH 0\b", said) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--bochs", default="bochs", help="the program")
    parser.add_argument("--seconds", type=float, default=0.06, help="tests that take longer here are left out")
    parser.add_argument("--kernel", type=Path, help="a kernel that is there already")
    parser.add_argument("--hours", type=float, default=2.0, help="for how long at most")
    parser.add_argument("--folder", type=Path, help="where the machine's files stay; without it nothing stays")
    options, tests = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        (folder / "disk").mkdir(parents=True, exist_ok=True)
        paths = with_links(opened_by(tests, options.seconds, folder))
        python = " ".join([*(f"{name}={value}" for name, value in VARIABLES.items()), sys.executable])
        made = {
            "init": INIT.format(project=PROJECT, python=python, options=" ".join(PYTEST)),
            "watched.py": WATCHED,
            "chosen.txt": (folder / "chosen.txt").read_text(),
        }
        write_archive(folder / "disk/archive", paths, made)
        write_disk(folder, options.kernel or fetch_kernel(folder))
        passed = emulate(folder, options.bochs, options.hours)
    print("passed on AVX-512" if passed else "FAILED")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
