"""What a disk does in one seed: which calls fail, when, and for how long; how the server ends; whether the next start fails, too."""
import errno

from .faults import DATA, FOREVER, Rule

# By kinds of files what is asked of them, and about how often in one short life.
ASKED = {
    "wal": [("write", 80), ("sync", 60), ("open", 8), ("create", 6), ("allocate", 6), ("truncate", 6), ("remove", 6), ("read", 2)],
    "sst": [("write", 25), ("sync", 50), ("create", 25), ("open", 25), ("allocate", 10), ("truncate", 10), ("remove", 18), ("read", 150)],
    "manifest": [("write", 200), ("sync", 180), ("create", 60), ("open", 10), ("rename", 30), ("allocate", 30), ("remove", 30)],
    "keyring": [("write", 8), ("sync", 5), ("open", 2), ("create", 1), ("rename", 1), ("link", 1), ("remove", 1), ("read", 20)],
    "witness": [("write", 30), ("sync", 16), ("open", 1), ("create", 1), ("rename", 1), ("read", 1)],
    "other": [("write", 3), ("sync", 7), ("open", 12), ("create", 3), ("rename", 1), ("link", 12), ("remove", 2)],
    "backup": [("write", 15), ("sync", 45), ("create", 15), ("open", 18), ("rename", 15), ("remove", 2), ("read", 2)],
    "keys": [("write", 2), ("sync", 6), ("create", 2), ("open", 2), ("rename", 2), ("remove", 1)],
    "heads": [("write", 1), ("sync", 1), ("open", 1), ("create", 1)],
}
# What takes room, and so may find none.
TAKES_ROOM = ("write", "create", "allocate", "sync", "link", "rename")
WRITES = ("write", "sync", "create", "rename", "truncate", "allocate", "link")


class Schedule:
    """All of it from the dice, so that a seed gives the same."""

    def __init__(self, dice, backs_up, publishes):
        self.dice = dice
        self.kinds = (*DATA, *(["backup", "backup", "keys"] if backs_up else []), *(["heads"] if publishes else []))
        # An empty folder becomes a database over the failing disk.
        self.fresh = dice.random() < 0.12
        self.rules, self.lasts = self.draw()
        # Seconds after which lasting faults are over, if they ever are, and how long is worked before the end.
        self.lifted_after = dice.uniform(0.2, 0.6) if self.lasts and dice.random() < 0.6 else None
        self.works = dice.uniform(0.5, 1.2) if backs_up else dice.uniform(0.25, 0.9)
        self.ends = dice.choices(["power", "kill", "stop"], [6, 2, 2])[0]
        self.again = self.draw()[0] if dice.random() < 0.25 else None

    def draw(self):
        """(rules, whether they last)."""
        shape = self.dice.choices(["once", "twice", "lasting", "parts", "slow", "none"], [40, 12, 24, 8, 8, 8])[0]
        if shape == "none":
            return [], False
        if shape == "slow":
            return [self.slow()], False
        if shape == "parts":
            return [Rule(DATA, ["write"], self.dice.randrange(1, 20), FOREVER, part=True)], False
        if shape == "lasting":
            beside = [self.slow()] if self.dice.random() < 0.2 else []
            return [self.lasting(), *beside], True
        return [self.once() for _ in range(2 if shape == "twice" else 1)], False

    def once(self):
        kind = self.dice.choice(self.kinds)
        call, often = self.dice.choice(ASKED[kind])
        many = self.dice.choice([1, 1, 1, 2, 5])
        return Rule([kind], [call], self.at(often), many, self.error(call), part=call == "write" and many > 1)

    def lasting(self):
        """From some call on: the disk is full, or gives up."""
        full = self.dice.random() < 0.5
        calls = TAKES_ROOM if full else WRITES
        if self.dice.random() < 0.7:
            return Rule(DATA, calls, self.at(200), FOREVER, errno.ENOSPC if full else errno.EIO)
        kind = self.dice.choice(self.kinds)
        return Rule([kind], calls, self.at(30), FOREVER, errno.ENOSPC if full else errno.EIO)

    def slow(self):
        kinds = self.dice.choice([DATA, ("wal",), ("keyring", "witness"), ("sst", "manifest"), ("backup", "keys")])
        return Rule(kinds, self.dice.choice([["sync"], ["write", "sync"], ["read", "open"]]), self.at(20), FOREVER, slow_ms=self.dice.choice([2, 5, 20]))

    def at(self, often):
        """A call among so many: the first ones more often than each of the others."""
        return max(1, int(often ** self.dice.random()))

    def error(self, call):
        return errno.ENOSPC if call in TAKES_ROOM and self.dice.random() < 0.4 else errno.EIO

    def __str__(self):
        said = "; ".join(map(str, self.rules)) or "nothing fails"
        said += f"; lifted after {self.lifted_after:.2f} s" if self.lifted_after else ""
        said += ", in a new folder" if self.fresh else ""
        said += f"; then {self.ends}"
        return said + ("; at the next start " + ("; ".join(map(str, self.again)) or "nothing") if self.again is not None else "")
