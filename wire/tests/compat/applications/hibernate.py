"""Hibernate: `hbm2ddl` at one start after another, entities, queries and locks."""
import tools

TITLE, VERSION = "Hibernate", "7.4.15"
LEFT_OUT_BECAUSE = tools.without("mvn")


def install():
    tools.install_java("hibernate")


def run(address):
    steps = tools.Steps("hibernate", address)
    steps.environment["JDBC_URL"] = tools.jdbc(address)
    steps.program("library", *tools.java("hibernate"))
    return steps.found
