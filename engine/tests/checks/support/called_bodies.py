"""What checks of functions and of triggers do alike: a person is forgotten beside a body, the server killed under one, the schema dumped."""
import os
import subprocess
import time

from harness import Check, beside
from harness.compared import left_out, postgres_program, postgres_there


class CalledBodies(Check):
    def forgotten_beside(self, person, statement, what):
        """A statement whose body has read a person and waits ends once the person is forgotten, whatever it catches."""
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            outcome = beside(one.execute, statement)
            time.sleep(0.5)
            other.execute(f"GDPR FORGET people {person}")
            state = outcome()
            self.tally.that(state in ("40001", "lost", "57P01"), what, state)

    def killed_under(self, statement):
        """`kill -9` while its body is at it, and a start."""
        with self.server.connect() as one:
            outcome = beside(one.execute, statement)
            time.sleep(0.7)
            self.server.kill()
            outcome()
        self.server.start()

    def dumped_schema(self):
        """What pg_dump writes of it; None where that is not installed."""
        if not postgres_there():
            return left_out("what pg_dump writes")
        with self.server.connect() as one:
            host, port = one.info.host, one.info.port
        environment = {**os.environ, "PGPASSWORD": self.server.password()}
        command = [postgres_program("pg_dump"), "-h", host, "-p", str(port), "-U", "controller", "-s", "--no-security-labels", "dogwood"]
        dumped = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        self.tally.equal(dumped.returncode, 0, f"pg_dump {dumped.stderr[-300:]}")
        return dumped.stdout
