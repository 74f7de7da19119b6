"""Power failures: a server is killed, and of its folder stays what it had flushed; of what it had not, any part.

The server runs with unflushed.c preloaded, which is built where a C compiler is (Rust needs one anyway).
"""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unflushed.c")
PAGE, SECTOR = 4096, 512


@functools.cache
def compiled(source):
    """A library to be preloaded; it is gone when this process ends."""
    folder = tempfile.mkdtemp(prefix="dogwood-preloaded-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = os.path.join(folder, os.path.basename(source) + ".so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"], check=True)
    return library


class Power:
    """For one server's folder, or one that it is in."""

    def __init__(self, data):
        self.data = os.path.abspath(data)
        self.root = tempfile.mkdtemp(prefix="dogwood-power-")
        self.kept = os.path.join(self.root, "kept")
        self.library = compiled(SHIM)

    def before(self):
        """To be called before a server starts; gives what its process is to do first."""
        shutil.rmtree(self.kept, ignore_errors=True)
        os.mkdir(self.kept)
        return lambda: os.environ.update(self.environment())

    def environment(self):
        """What a program is run with over this folder."""
        return {"LD_PRELOAD": self.library, "UNFLUSHED_DATA": self.data, "UNFLUSHED_KEPT": self.kept}

    def fails(self, dice):
        """The server was killed: its folder becomes what a power failure leaves."""
        left = os.path.join(self.root, "left")
        shutil.rmtree(left, ignore_errors=True)
        self._restore("", left, dice)
        shutil.rmtree(self.data)
        shutil.move(left, self.data)

    def _restore(self, below, target, dice):
        os.mkdir(target, 0o700)
        with open(os.path.join(self.kept, "names" + below.replace("/", "+"))) as names:
            entries = [line.rstrip("\n").split(" ", 2) for line in names]
        for kind, identity, name in entries:
            path, now = os.path.join(target, name), os.path.join(self.data + below, name)
            if kind == "d":
                if os.path.exists(os.path.join(self.kept, "names" + f"{below}/{name}".replace("/", "+"))):
                    self._restore(f"{below}/{name}", path, dice)
                else:
                    os.mkdir(path, 0o700)
                continue
            kept = os.path.join(self.kept, identity)
            content = b""
            if os.path.exists(kept):
                with open(kept, "rb") as file:
                    content = file.read()
            # Pages that the system had written by itself: some of them, in any order.
            if dice.random() < 0.5 and os.path.exists(now) and os.stat(now).st_ino == int(identity.split(".")[0]):
                with open(now, "rb") as file:
                    content = self._some_of(content, file.read(), dice)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, os.stat(now).st_mode & 0o777 if os.path.exists(now) else 0o600)

    @staticmethod
    def _some_of(flushed, written, dice):
        """The flushed content with some of the pages that differ from it as they were written last; of some pages some sectors."""
        merged = bytearray(flushed)

        def take(at, size):
            new = written[at:at + size]
            if new != flushed[at:at + size] and new.strip(b"\0") and dice.random() < 0.5:
                merged.extend(b"\0" * (at + len(new) - len(merged)))
                merged[at:at + len(new)] = new

        for at in range(0, len(written), PAGE):
            if written[at:at + PAGE] == flushed[at:at + PAGE]:
                continue
            if dice.random() < 0.8:
                take(at, PAGE)
                continue
            # The power went while it was written.
            for sector in range(at, min(at + PAGE, len(written)), SECTOR):
                take(sector, SECTOR)
        return bytes(merged)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)
