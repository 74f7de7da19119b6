"""Airflow with its users in the database: migrations down and up, its scheduler, its API, and what runs by them."""
import json
import pathlib
import shutil

from application import Application
from browser import Browser
from job import python_environment

TITLE, VERSION, LIMIT = "Airflow", "3.3.2", 900
DAGS = pathlib.Path(__file__).parent / "projects/airflow"
ADA = {"username": "ada", "password": "lovelace-1815"}
# The version from which the migrations are run up again: from nothing, Airflow makes its tables by its models.
BEFORE = "3.0.0"


def install(folder):
    python_environment(folder, f"apache-airflow=={VERSION}", "apache-airflow-providers-fab==3.10.2", "apache-airflow-providers-postgres==7.1.1", "asyncpg==0.32.0", "psycopg2-binary==2.9.13")


def run(job):
    with Application(job, "airflow") as app:
        shutil.copytree(DAGS, app.work / "dags")
        settings(app)
        with app.step("migrate", needed=True):
            airflow(app, "db", "migrate")
            airflow(app, "db", "check-migrations")
        with app.step("a user", needed=True):
            airflow(app, "users", "create", "-u", ADA["username"], "-p", ADA["password"], "-r", "Admin", "-e", "ada@example.org", "-f", "Ada", "-l", "Lovelace")
            assert "ada@example.org" in airflow(app, "users", "list")
        with app.step("start", needed=True):
            app.serve(app.folder / "venv/bin/airflow", "api-server", "--port", app.http_port, "--workers", "1", limit=240)
            app.serve(app.folder / "venv/bin/airflow", "dag-processor")
            app.serve(app.folder / "venv/bin/airflow", "scheduler")
        with app.step("log in", needed=True):
            token = Browser(app.base).json("POST", "/auth/token", ADA)["access_token"]
        api = Browser(f"{app.base}/api/v2/", {"Authorization": f"Bearer {token}"})
        runs(app, api)
        trouble(app, api)
        things(app, api)
        with app.step("db clean"):
            airflow(app, "db", "clean", "--clean-before-timestamp", "2099-01-01", "-y", "--skip-archive", "--tables", "log,job,dag_run,task_instance,xcom")
        app.stop()
        with app.step("migrate back and again"):
            airflow(app, "db", "downgrade", "--to-version", BEFORE, "-y")
            airflow(app, "db", "migrate")


def settings(app):
    url = app.url.replace("postgresql:", "postgresql+psycopg2:")
    app.environment.update({
        "AIRFLOW_HOME": str(app.work), "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url, "AIRFLOW__CORE__EXECUTOR": "LocalExecutor", "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret that is as long as it must be, at the least", "AIRFLOW__API__SECRET_KEY": "one more of these",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{app.base}/execution/", "AIRFLOW__API__BASE_URL": app.base, "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True", "AIRFLOW__FAB__AUTH_RATE_LIMITED": "False",
    })


def airflow(app, *arguments):
    return app.command(app.folder / "venv/bin/airflow", *arguments)


def state(api, dag, run, ends=("success", "failed")):
    found = api.json("GET", f"dags/{dag}/dagRuns/{run}")["state"]
    return found if found in ends else None


def runs(app, api):
    with app.step("dags are found", needed=True):
        app.eventually(lambda: api.json("GET", "dags?limit=10&order_by=-dag_id&exclude_stale=true")["total_entries"] == 4, 180)
        app.same(api.json("GET", "importErrors")["total_entries"], 0)
        app.same([one["dag_id"] for one in api.json("GET", "dags?tags=sea")["dags"]], ["voyage"])
        app.same([one["dag_id"] for one in api.json("GET", "dags?dag_id_pattern=log")["dags"]], ["log_book"])
        app.same(api.json("GET", "dagTags")["tags"], ["sea", "test"])
    with app.step("a run by hand"):
        for dag in ("voyage", "unloading"):
            api.json("PATCH", f"dags/{dag}?update_mask=is_paused", {"is_paused": False})
        api.json("POST", "dags/voyage/dagRuns", {"dag_run_id": "first", "logical_date": None, "conf": {"ports": 3}, "note": "go"})
        app.same(app.eventually(lambda: state(api, "voyage", "first"), 240), "success")
        tasks = api.json("GET", "dags/voyage/dagRuns/first/taskInstances?order_by=id")["task_instances"]
        app.same(sorted((one["task_id"], one["map_index"], one["state"]) for one in tasks),
                 [("call", 0, "success"), ("call", 1, "success"), ("call", 2, "success"), ("ports", -1, "success"), ("total", -1, "success")])
        app.same(api.json("GET", "dags/voyage/dagRuns/first/taskInstances/total/xcomEntries/return_value")["value"], 18)
    with app.step("an asset wakes another"):
        app.eventually(lambda: any(one["state"] == "success" for one in api.json("GET", "dags/unloading/dagRuns")["dag_runs"]), 180)
        app.same(api.json("GET", "assets/events")["total_entries"], 1)
    with app.step("runs by themselves, and anew"):
        api.json("PATCH", "dags/log_book?update_mask=is_paused", {"is_paused": False})
        app.eventually(lambda: any(one["state"] == "success" for one in api.json("GET", "dags/log_book/dagRuns?run_type=scheduled")["dag_runs"]), 180)
        again = {"from_date": "2026-02-01T00:00:00Z", "to_date": "2026-02-03T00:00:00Z", "dag_id": "log_book", "max_active_runs": 2}
        api.json("POST", "backfills", again)
        app.eventually(lambda: len([one for one in api.json("GET", "dags/log_book/dagRuns?run_type=backfill")["dag_runs"] if one["state"] == "success"]) == 3, 240)


def trouble(app, api):
    with app.step("a run that fails, retried and cleared"):
        api.json("PATCH", "dags/wreck?update_mask=is_paused", {"is_paused": False})
        api.json("POST", "dags/wreck/dagRuns", {"dag_run_id": "bad", "logical_date": None})
        app.same(app.eventually(lambda: state(api, "wreck", "bad"), 240), "failed")
        app.same(api.json("GET", "dags/wreck/dagRuns/bad/taskInstances/sink")["try_number"], 2)
        cleared = api.json("POST", "dags/wreck/clearTaskInstances", {"dry_run": False, "dag_run_id": "bad", "only_failed": True})
        app.same(cleared["total_entries"], 1)
        app.same(app.eventually(lambda: state(api, "wreck", "bad"), 240), "failed")
        assert len(api.json("GET", "dags/wreck/dagRuns/bad/taskInstances/sink/tries")["task_instances"]) >= 3
    with app.step("marked, and deleted"):
        app.same(api.json("PATCH", "dags/wreck/dagRuns/bad", {"state": "success", "note": "so be it"})["state"], "success")
        api.json("DELETE", "dags/wreck/dagRuns/bad")
        api.json("GET", "dags/wreck/dagRuns/bad", expect=404)
        api.json("DELETE", "dags/unloading")
    with app.step("what the pages show"):
        for path in ("dashboard/dag_stats", "dashboard/historical_metrics_data?start_date=2026-01-01T00:00:00Z", "dags?dag_runs_limit=5", "grid/runs/voyage", "grid/structure/voyage",
                     "structure/structure_data?dag_id=voyage", "next_run_assets/unloading", "dependencies"):
            api.request("GET", f"{app.base}/ui/{path}").status < 500 or api.get(f"{app.base}/ui/{path}")
        for path in ("eventLogs?order_by=-when", "jobs", "dagStats", "dagWarnings", "dags/voyage/dagVersions", "dagSources/voyage", "dags/~/dagRuns/~/taskInstances?state=success",
                     "dags/~/dagRuns?order_by=-start_date&state=success", "monitor/health"):
            api.get(path)


def things(app, api):
    with app.step("connections, variables, pools"):
        api.json("POST", "connections", {"connection_id": "harbour", "conn_type": "postgres", "host": "h", "password": "p", "extra": json.dumps({"a": 1})})
        app.same(api.json("PATCH", "connections/harbour?update_mask=host", {"connection_id": "harbour", "conn_type": "postgres", "host": "other"})["host"], "other")
        api.json("POST", "variables", {"key": "wind", "value": "12", "description": "knots"})
        api.json("PATCH", "variables/wind", {"key": "wind", "value": "15"})
        app.same(api.json("GET", "variables?variable_key_pattern=wi&order_by=-key")["variables"][0]["value"], "15")
        api.json("POST", "pools", {"name": "berths", "slots": 3})
        app.same(api.json("GET", "pools/berths")["open_slots"], 3)
        many = {"actions": [{"action": "create", "entities": [{"key": f"k{n}", "value": str(n)} for n in range(20)], "action_on_existence": "overwrite"}]}
        api.json("PATCH", "variables", many)
        app.same(api.json("GET", "variables")["total_entries"], 21)
        for path in ("connections/harbour", "variables/wind", "pools/berths"):
            api.json("DELETE", path)
            api.json("GET", path, expect=404)
