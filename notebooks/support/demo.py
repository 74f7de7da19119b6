"""A server of the notebooks' own, in a temporary folder: `execute` runs notebooks against one, `lab` opens them on one.

    demo.py execute [--scale S] [--update] [NOTEBOOK ...]     every notebook if none is named; --update keeps the outputs
    demo.py lab [ARGUMENT OF JUPYTER LAB ...]                 on the server of DOGWOOD_URL if that is set

DOGWOOD names the program. Ends what it started, however it ends itself.
"""

import argparse
import base64
import io
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))

from support import community  # noqa: E402

BINARY = os.environ.get("DOGWOOD", str(FOLDER.parent / "target/release/dogwood"))
START_S = 60
STOP_S = 20
CELL_S = 600
LOADED_STORIES = 100
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Server:
    """A server on a free port over a folder of its own: `with Server() as server: server.url`."""

    def __enter__(self):
        if not os.access(BINARY, os.X_OK):
            sys.exit(f"there is no program {BINARY}: make builds it, DOGWOOD names another")
        self.folder = tempfile.mkdtemp(prefix="dogwood-notebooks-")
        self.process = None
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        self.log = open(os.path.join(self.folder, "log"), "w+b")
        command = [BINARY, "serve", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0", "--insecure"]
        # Ctrl-C is for Jupyter and for us: the server is stopped after them.
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)
        said, end = b"", time.monotonic() + START_S
        while b"\n" not in said.partition(b"listening on")[2]:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not part:
                self.log.seek(0)
                sys.exit("the server did not start:\n" + self.log.read().decode(errors="replace"))
            said += part
        port = said.partition(b"listening on")[2].split()[0].rpartition(b":")[2].decode()
        self.url = f"postgresql://controller@127.0.0.1:{port}/dogwood?sslmode=disable"
        self.environment = {"DOGWOOD_URL": self.url, "DOGWOOD_PID": str(self.process.pid)}

    def load(self):
        """The small community."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            community.create(connection)
            community.grow(connection, LOADED_STORIES)

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def execute(path, server, scale):
    """Runs a notebook; raises what a cell raises. The notebook with its outputs."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    # The kernel is our child and inherits this.
    os.environ.update(server.environment, DOGWOOD_NOTEBOOK_SCALE=str(scale))
    client = nbclient.NotebookClient(
        notebook, timeout=CELL_S, record_timing=False, resources={"metadata": {"path": str(FOLDER)}},
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute()
    return notebook


def tidy(notebook):
    """Without what differs on each machine, and with smaller pictures."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = smaller(output["data"]["image/png"])
    return notebook


def smaller(picture):
    """A PNG, in base64, of few colours."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        few = image.convert("RGB").quantize(64)
    packed = io.BytesIO()
    few.save(packed, "PNG", optimize=True)
    return base64.b64encode(packed.getvalue()).decode()


def execute_all(options):
    import nbclient.exceptions
    import nbformat

    paths = [pathlib.Path(name).resolve() for name in options.notebooks] or sorted(FOLDER.glob("*.ipynb"))
    failed = []
    for path in paths:
        began = time.monotonic()
        print(f"{path.stem} …", end=" ", flush=True)
        with Server() as server:
            server.load()
            try:
                notebook = execute(path, server, options.scale)
            except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as error:
                failed.append(path.stem)
                print(f"FAILED after {time.monotonic() - began:.0f} s\n{COLOUR.sub('', str(error))}", flush=True)
                continue
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        if options.update:
            nbformat.write(tidy(notebook), path)
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    print(f"{len(paths)} notebooks executed")


def lab(arguments):
    """Jupyter in the foreground, over a server of its own unless there is one; its exit status."""
    jupyter = [sys.executable, "-m", "jupyter", "lab", str(FOLDER), *(["--allow-root"] if os.getuid() == 0 else []), *arguments]
    if "DOGWOOD_URL" in os.environ:
        return attend(subprocess.Popen(jupyter))
    with Server() as server:
        server.load()
        print(f"a demo server listens: {server.url}\nit is gone with everything in it when Jupyter ends", flush=True)
        return attend(subprocess.Popen(jupyter, env={**os.environ, **server.environment}))


def attend(process):
    """Waits for a program that asks on its own what Ctrl-C is to mean."""
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_subparsers(dest="what", required=True)
    execution = what.add_parser("execute")
    execution.add_argument("--scale", type=float, default=1.0)
    execution.add_argument("--update", action="store_true")
    execution.add_argument("notebooks", nargs="*")
    what.add_parser("lab")
    options, rest = parser.parse_known_args()
    # Ended like an interruption: the server is stopped and its folder removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if options.what == "lab":
        sys.exit(lab(rest))
    if rest:
        parser.error("unknown: " + " ".join(rest))
    try:
        execute_all(options)
    except KeyboardInterrupt:
        sys.exit("interrupted")


if __name__ == "__main__":
    main()
