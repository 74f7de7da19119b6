"""Kysely: its Migrator, its introspection and its query builder."""
import tools

TITLE, VERSION = "Kysely", "0.28.19"
LEFT_OUT_BECAUSE = tools.without_node()


def install():
    tools.install_node("kysely")


def run(address):
    steps = tools.Steps("kysely", address)
    steps.program("library", "node", "program.mjs")
    return steps.found
