"""golang-migrate: its command, its library over pgx and pq, and what it made by pgx and `database/sql`."""
import tools

TITLE, VERSION = "golang-migrate", "4.20.1"
LEFT_OUT_BECAUSE = tools.without("go")


def install():
    folder = tools.install_go("golang_migrate")
    tools.sh("go", "build", "-tags", "pgx5", "-o", "migrate", "github.com/golang-migrate/migrate/v4/cmd/migrate", cwd=folder)


def run(address):
    steps = tools.Steps("golang_migrate", address)
    url = address.replace("postgresql://", "pgx5://")

    def migrate(step, *command, source="migrations", **wanted):
        steps.command(step, "./migrate", "-path", source, "-database", f"{url}&x-migrations-table={source}", *command, **wanted)

    migrate("up", "up", says="4/u index")
    migrate("up again", "up", says="no change")
    migrate("version", "version", says="4")
    migrate("two down", "down", "2", says="3/d changes")
    migrate("to the third", "goto", "3", says="3/u changes")
    migrate("all down", "down", "-all", says="1/d people")
    migrate("up after that", "up", says="4/u index")
    migrate("a broken migration", "up", source="broken", ends=1, says='column "nothing" does not exist')
    migrate("it is dirty", "up", source="broken", ends=1, says="Dirty database version 1")
    migrate("forced", "force", "1", source="broken")
    migrate("all down again", "down", "-all", says="1/d people")
    migrate("drop", "drop", "-f")
    migrate("up from nothing", "up", says="4/u index")
    steps.program("library", "./program")
    return steps.found
