"""A disk that fails by a schedule: faults.c, preloaded into a server, strikes the calls that rules are meant for.

    faults = Faults(root)                    the folder that holds data/, backups/, keys/ and heads
    faults.rules = [Rule(WAL, WRITE, first=7, error=errno.EIO)]
    server.start(before=faults.before)       the server runs over it
    faults.arm(), faults.lift()              when calls are counted, and when none fails any more
"""
import errno
import mmap
import os
import struct

from .power import compiled

SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")

# The same as in faults.c.
KINDS = {"wal": 1, "sst": 2, "manifest": 4, "keyring": 8, "witness": 16, "other": 32, "backup": 64, "keys": 128, "heads": 256}
CALLS = {"open": 1, "write": 2, "sync": 4, "rename": 8, "truncate": 16, "allocate": 32, "read": 64, "remove": 128, "link": 256, "create": 512}
DATA = ("wal", "sst", "manifest", "keyring", "witness", "other")
FOREVER = 0xFFFFFFFF
RULES = 8
RULE = struct.Struct("9I")


class Rule:
    """Which calls are meant, by kinds of files and kinds of calls; the first that is struck, and how many; what becomes of them."""

    def __init__(self, kinds, calls, first=1, many=1, error=0, part=False, slow_ms=0):
        self.kinds, self.calls, self.first, self.many = tuple(kinds), tuple(calls), first, many
        self.error, self.part, self.slow_ms = error, part, slow_ms

    def packed(self):
        kinds, calls = sum(KINDS[kind] for kind in self.kinds), sum(CALLS[call] for call in self.calls)
        return RULE.pack(kinds, calls, self.first, self.many, self.error, self.part, self.slow_ms, 0, 0)

    def __str__(self):
        what = [errno.errorcode[self.error]] if self.error else []
        what += ["a part"] if self.part else []
        what += [f"{self.slow_ms} ms"] if self.slow_ms else []
        many = "from" if self.many == FOREVER else "once at" if self.many == 1 else f"{self.many} times from"
        return f"{'/'.join(self.calls)} of {'/'.join(self.kinds)}: {' and '.join(what)} {many} call {self.first}"


class Faults:
    """For one folder. Beside it power failures may be simulated: `power` is to be told of each start, too."""

    def __init__(self, root, power):
        self.root, self.power = os.path.abspath(root), power
        self.control, self.struck_path = os.path.join(power.root, "control"), os.path.join(power.root, "struck")
        with open(self.control, "wb") as file:
            file.write(bytes(4 + RULES * RULE.size))
        with open(self.control, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 0)
        self.library = compiled(SHIM)

    def before(self):
        """To be called before a server starts; gives what its process is to do first."""
        self.power.before()
        return lambda: os.environ.update(self.environment())

    def environment(self):
        """What a program is run with over this disk."""
        power = self.power.environment()
        both = f"{self.library}:{power['LD_PRELOAD']}"
        return {**power, "LD_PRELOAD": both, "FAULTS_ROOT": self.root, "FAULTS_CONTROL": self.control, "FAULTS_STRUCK": self.struck_path}

    def arm(self, rules):
        """From now on calls are counted, by these rules."""
        self.lift()
        for number in range(RULES):
            packed = rules[number].packed() if number < len(rules) else bytes(RULE.size)
            self.shared[4 + number * RULE.size:4 + (number + 1) * RULE.size] = packed
        self.shared[0:4] = struct.pack("I", 1)

    def lift(self):
        """None fails any more."""
        self.shared[0:4] = struct.pack("I", 0)

    def struck(self):
        """How many calls were struck, by rule."""
        return [RULE.unpack_from(self.shared, 4 + number * RULE.size)[8] for number in range(RULES)]

    def seen(self):
        """How many calls were meant, by rule."""
        return [RULE.unpack_from(self.shared, 4 + number * RULE.size)[7] for number in range(RULES)]

    def said(self):
        """What was struck, as the disk tells it."""
        if not os.path.exists(self.struck_path):
            return ""
        with open(self.struck_path) as file:
            return file.read()
