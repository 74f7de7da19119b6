"""Drizzle: `drizzle-kit` generates, migrates, pushes and pulls; the library queries."""
import re
import shutil

import tools

TITLE, VERSION = "Drizzle", "0.45.4"
LEFT_OUT_BECAUSE = tools.without_node()


def install():
    tools.install_node("drizzle")


def in_order(schema):
    """A schema that was pulled, by names: drizzle-kit asks for tables without ORDER BY, and imports in the order of what it got."""
    schema = re.sub(r"(?<=^import \{ ).*(?= \} from)", lambda found: ", ".join(sorted(found[0].split(", "))), schema, flags=re.M)
    return "\n\n".join(sorted(part.strip() for part in schema.split("\n\n")))


def run(address):
    steps = tools.Steps("drizzle", address)
    for made in ("migrations", "pulled"):
        shutil.rmtree(steps.folder / made, ignore_errors=True)

    def kit(step, *command, schema, **wanted):
        steps.environment["SCHEMA"] = f"./{schema}.ts"
        steps.command(step, "npx", "drizzle-kit", *command, **wanted)

    kit("generate", "generate", schema="first")
    kit("migrate", "migrate", schema="first", says="migrations applied successfully")
    kit("migrate again", "migrate", schema="first", says="migrations applied successfully")
    kit("push of what is there", "push", "--verbose", schema="first", says="No changes detected")
    kit("generate the second", "generate", schema="second")
    kit("migrate to the second", "migrate", schema="second", says="migrations applied successfully")
    kit("push of the second", "push", "--verbose", schema="second", says="No changes detected")
    kit("check", "check", schema="second", says="fine")
    steps.program("library", "npx", "tsx", "program.ts")
    kit("push of a table more", "push", "--force", schema="third", says="Changes applied")
    kit("push again", "push", "--verbose", schema="third", says="No changes detected")
    steps.environment["OUT"] = "./pulled"
    kit("pull", "pull", schema="third", answer=lambda _: in_order((steps.folder / "pulled/schema.ts").read_text()))
    return steps.found
