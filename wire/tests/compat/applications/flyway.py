"""Flyway: what a program with it does at its starts, by its Java library."""
import tools

TITLE, VERSION = "Flyway", "13.12.1"
LEFT_OUT_BECAUSE = tools.without("mvn")


def install():
    tools.install_java("flyway")


def run(address):
    steps = tools.Steps("flyway", address)
    steps.environment["JDBC_URL"] = tools.jdbc(address)
    steps.program("library", *tools.java("flyway"))
    return steps.found
