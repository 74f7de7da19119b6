"""River: its migrations one by one, down and up again, then its jobs."""
import tools

TITLE, VERSION = "River", "0.51.2"
LEFT_OUT_BECAUSE = tools.without("go")


def install():
    tools.install_go("river")


def run(address):
    steps = tools.Steps("river", address)
    steps.program("library", "./program")
    return steps.found
