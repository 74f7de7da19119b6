"""node-pg-migrate: its command up, down, redo and again, and its runner as a library."""
import tools

TITLE, VERSION = "node-pg-migrate", "9.0.0"
LEFT_OUT_BECAUSE = tools.without_node()


def install():
    tools.install_node("node_pg_migrate")


def run(address):
    steps = tools.Steps("node_pg_migrate", address)

    def migrate(step, *command, says="Migrations complete!"):
        steps.command(step, "npx", "node-pg-migrate", *command, says=says)

    migrate("what it would do", "up", "--dry-run")
    migrate("up", "up")
    migrate("up again", "up", says="No migrations to run!")
    migrate("one down", "down")
    migrate("three down", "down", "3")
    migrate("up after that", "up")
    migrate("redo", "redo", "2")
    steps.program("library", "node", "program.mjs")
    return steps.found
