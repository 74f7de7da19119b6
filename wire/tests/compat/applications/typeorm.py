"""TypeORM: `synchronize` twice, its command's migrations, entities and transactions."""
import shutil

import tools

TITLE, VERSION = "TypeORM", "1.1.1"
LEFT_OUT_BECAUSE = tools.without_node()


def install():
    folder = tools.install_node("typeorm")
    tools.sh("npx", "tsc", cwd=folder)


def run(address):
    steps = tools.Steps("typeorm", address)
    for made in ("migrations", "built/migrations"):
        shutil.rmtree(steps.folder / made, ignore_errors=True)
    command = ["npx", "typeorm"]
    source = ["-d", "built/source.js"]
    steps.command("create a schema", *command, "query", "CREATE SCHEMA library", *source)
    steps.command("generate a migration", *command, "migration:generate", "migrations/First", *source, says="generated successfully")
    steps.command("compile it", "npx", "tsc", "--outDir", "built/migrations", "--target", "es2022", "--module", "commonjs", "--skipLibCheck",
                  *(f"migrations/{file.name}" for file in (steps.folder / "migrations").glob("*.ts")))
    run_, revert = ([*command, f"migration:{what}", *source] for what in ("run", "revert"))
    steps.command("migrate", *run_, says="has been executed successfully")
    steps.command("migrate again", *run_, says="No migrations are pending")
    steps.command("generate with nothing to do", *command, "migration:generate", "migrations/Second", *source, says="No changes", ends=1)
    steps.command("revert", *revert, says="has been reverted successfully")
    steps.command("migrate after that", *run_, says="has been executed successfully")
    steps.command("show migrations", *command, "migration:show", *source, says="[X] ")
    steps.command("what schema:sync would do", *command, "schema:log", *source, says="up to date")
    steps.command("drop the schema", *command, "schema:drop", *source, says="dropped")
    steps.program("library", "node", "built/program.js")
    return steps.found
