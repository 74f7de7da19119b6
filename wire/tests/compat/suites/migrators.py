"""The migration tools and libraries of `applications/`: their own commands, then what a program does with them."""
import importlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "applications"))

import tools  # noqa: E402

TITLE, VERSION, LIMIT = "Migration tools, ORMs and Redmine", "2026-11", 1800


def chosen():
    """The applications that can be run here, by their names: `APPLICATIONS="drizzle kysely"` asks for some of them."""
    for name in os.environ.get("APPLICATIONS", "").split() or tools.ORDER:
        module = importlib.import_module(name)
        if module.LEFT_OUT_BECAUSE:
            print(f"  LEFT OUT, {name}: {module.LEFT_OUT_BECAUSE}", flush=True)
        else:
            yield name, module


def install(folder):
    """Each has a folder of its own, and brings into it what is not there yet."""


def answers(job, kind):
    """Where the answers to the steps are, of which `job.results` keeps the beginnings."""
    return job.results.with_name(f"migrators.{kind}.answers.json")


def run(job):
    given = {}
    for name, module in chosen():
        module.install()
        for step, (outcome, message) in module.run(tools.address_of(job.port, name)).items():
            given[f"{name}: {step}"] = (outcome, message)
    answers(job, job.kind).write_text(json.dumps(given))
    wanted = json.loads(answers(job, "postgresql").read_text())
    for step, (outcome, message) in given.items():
        if outcome == "passed" and wanted.get(step, (outcome, message))[1] != message:
            outcome, message = "failed", "another answer: " + difference(wanted[step][1], message)
        job.tell(step, outcome, message)


def difference(wanted, given):
    """Where two answers part."""
    at = next((i for i, (one, other) in enumerate(zip(wanted, given)) if one != other), min(len(wanted), len(given)))
    return f"{given[max(0, at - 30):at + 80]!r} for {wanted[max(0, at - 30):at + 80]!r}"
