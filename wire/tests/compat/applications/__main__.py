#!/usr/bin/env python3
"""`python3 wire/tests/compat/applications [NAME …] [--on postgresql|dogwood] [--address URL]`: applications on a PostgreSQL 15 and on a
Dogwood of their own, each in a new database, and what differs.
"""
import argparse
import difflib
import importlib
import pathlib
import sys
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402, F401
from harness.compared import Dogwood, Postgres  # noqa: E402
from tools import ORDER, address_of  # noqa: E402


def run(module, address):
    began = time.monotonic()
    found = module.run(address)
    passed = sum(outcome == "passed" for outcome, _ in found.values())
    print(f"  {passed} of {len(found)} steps in {time.monotonic() - began:.0f} s", flush=True)
    return found


def run_on(server, kind, modules):
    results = {}
    with server:
        for name, module in modules.items():
            print(f"{kind}: {module.TITLE} {module.VERSION}", flush=True)
            results[name] = run(module, address_of(server.port, name))
            if kind == "dogwood" and not server.alive():
                print("THE SERVER DIED:", server.log.read_text(errors="replace")[-2000:], flush=True)
                break
    return results


def told(postgresql, dogwood):
    """The lines about one application."""
    for step, (outcome, message) in postgresql.items():
        if outcome != "passed":
            yield f"  {step}: FAILS ON POSTGRESQL: {message}"
            continue
        there, said = dogwood.get(step, ("not run", ""))
        if there != "passed":
            yield f"  {step}: {there}: {said}"
        elif said != message:
            lines = difflib.unified_diff(message.splitlines(), said.splitlines(), "postgresql", "dogwood", n=0, lineterm="")
            yield f"  {step}: another answer:\n      " + "\n      ".join(line[:600] for line in list(lines)[2:40])
    for step in dogwood.keys() - postgresql.keys():
        yield f"  {step}: only on Dogwood: {dogwood[step]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(ORDER))
    parser.add_argument("--on", choices=["postgresql", "dogwood"])
    parser.add_argument("--address", help="a database that is there already")
    options = parser.parse_args()
    modules = {name: importlib.import_module(name) for name in options.names or ORDER}
    for name, module in list(modules.items()):
        if module.LEFT_OUT_BECAUSE:
            print(f"LEFT OUT, {name}: {module.LEFT_OUT_BECAUSE}", flush=True)
            del modules[name]
        else:
            module.install()
    if options.address:
        results = {name: run(module, options.address) for name, module in modules.items()}
    elif options.on:
        results = run_on(Dogwood() if options.on == "dogwood" else Postgres(), options.on, modules)
    else:
        postgresql, dogwood = run_on(Postgres(), "postgresql", modules), run_on(Dogwood(), "dogwood", modules)
        for name, module in modules.items():
            print(module.TITLE)
            print("\n".join(told(postgresql[name], dogwood.get(name, {}))), flush=True)
        return
    for name, found in results.items():
        for step, (outcome, message) in found.items():
            print(f"{name}: {step}: {outcome}: {message[:1500]}", flush=True)


if __name__ == "__main__":
    main()
