"""Liquibase: its own commands, by its Java library."""
import tools

TITLE, VERSION = "Liquibase", "5.0.4"
LEFT_OUT_BECAUSE = tools.without("mvn")


def install():
    tools.install_java("liquibase")


def run(address):
    steps = tools.Steps("liquibase", address)
    steps.environment["JDBC_URL"] = tools.jdbc(address)
    steps.program("library", *tools.java("liquibase"))
    return steps.found
