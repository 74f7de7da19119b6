"""Prefect's server: its migrations, its services, its API, and flows that run against it."""
import pathlib

from application import Application
from browser import Browser
from job import python_environment

TITLE, VERSION, LIMIT = "Prefect", "3.9.1", 600
FLOWS = pathlib.Path(__file__).parent / "projects/prefect/flows.py"


def install(folder):
    python_environment(folder, f"prefect=={VERSION}")


def run(job):
    with Application(job, "prefect") as app:
        prefect = app.folder / "venv/bin/prefect"
        app.environment.update(PREFECT_API_DATABASE_CONNECTION_URL=app.url.replace("postgresql:", "postgresql+asyncpg:"), PREFECT_HOME=str(app.work),
                               PREFECT_API_URL=f"{app.base}/api", PREFECT_SERVER_ANALYTICS_ENABLED="false")
        with app.step("migrate", needed=True):
            app.command(prefect, "server", "database", "upgrade", "-y")
        with app.step("start", needed=True):
            app.serve(prefect, "server", "start", "--host", "127.0.0.1", "--port", app.http_port)
            app.eventually(lambda: Browser(app.base).request("GET", "/api/ready").status == 200)
        api = Browser(f"{app.base}/api/")
        flows(app, api)
        deployments(app, api)
        small_things(app, api)
        with app.step("migrate back and again"):
            app.command(prefect, "server", "database", "downgrade", "-y", "-r", "-1")
            app.command(prefect, "server", "database", "upgrade", "-y")


def flows(app, api):
    with app.step("run flows"):
        said = app.command(app.python, FLOWS)
        assert "TOTAL 12" in said and "STATE FAILED" in said, said[-500:]
    with app.step("list flows, runs, tasks"):
        app.same(sorted(one["name"] for one in api.json("POST", "flows/filter", {})), ["broken", "lengths"])
        wanted = {"flow_runs": {"state": {"type": {"any_": ["FAILED"]}}}, "sort": "START_TIME_DESC", "limit": 10}
        app.same(len(api.json("POST", "flow_runs/filter", wanted)), 1)
        app.same(api.json("POST", "task_runs/count", {"task_runs": {"tags": {"all_": ["measure"]}}}), 3)
        app.same(api.json("POST", "flow_runs/count", {"flows": {"name": {"like_": "len"}}}), 1)
        app.same(len(api.json("POST", "flow_runs/paginate", {"page": 1, "limit": 1})["results"]), 1)
    with app.step("history, lateness, logs"):
        window = {"history_start": "2020-01-01T00:00:00Z", "history_end": "2020-01-02T00:00:00Z", "history_interval_seconds": 3600}
        app.same(len(api.json("POST", "flow_runs/history", window)), 24)
        api.json("POST", "flow_runs/lateness", {})
        app.eventually(lambda: any("measuring 3 words" in one["message"] for one in api.json("POST", "logs/filter", {"sort": "TIMESTAMP_ASC"})))
    with app.step("artifacts"):
        app.same(len(api.json("POST", "artifacts/filter", {"artifacts": {"key": {"any_": ["total", "words"]}}})), 2)
        app.same(api.json("GET", "artifacts/total/latest")["data"], "**12**")
        app.same(api.json("POST", "artifacts/latest/count", {"artifacts": {"key": {"exists_": True}}}), 2)
    with app.step("events"):
        wanted = {"filter": {"event": {"prefix": ["prefect.flow-run."]}}, "limit": 5}
        app.eventually(lambda: api.json("POST", "events/filter", wanted)["total"])
        for by in ("event", "day", "resource"):
            assert api.json("POST", f"events/count-by/{by}", {"filter": wanted["filter"]})


def deployments(app, api):
    """What is scheduled, changed, paused, and taken back."""
    with app.step("work pools and queues"):
        api.json("POST", "work_pools/", {"name": "docks", "type": "process", "base_job_template": {}})
        api.json("POST", "work_pools/docks/queues", {"name": "fast", "priority": 1, "concurrency_limit": 2})
        app.same(sorted(one["name"] for one in api.json("POST", "work_pools/docks/queues/filter", {})), ["default", "fast"])
        api.json("PATCH", "work_pools/docks", {"concurrency_limit": 3})
    with app.step("a deployment, its schedule, its runs"):
        flow = api.json("GET", "flows/name/lengths")["id"]
        new = {"name": "daily", "flow_id": flow, "work_pool_name": "docks", "work_queue_name": "fast", "tags": ["sea", "daily"], "paused": False,
               "parameters": {"words": ["a"]}, "enforce_parameter_schema": False,
               "schedules": [{"active": True, "schedule": {"interval": 3600, "anchor_date": "2026-01-01T00:00:00Z"}}]}
        deployment = api.json("POST", "deployments/", new)["id"]
        app.same(api.json("POST", "deployments/", {**new, "description": "again"})["id"], deployment)
        api.json("POST", f"deployments/{deployment}/schedule", {})
        runs = {"deployments": {"id": {"any_": [deployment]}}}
        app.eventually(lambda: api.json("POST", "flow_runs/count", runs) >= 3)
        app.same(len(api.json("POST", "deployments/filter", {"deployments": {"tags": {"all_": ["sea"]}}})), 1)
        assert api.json("POST", "work_pools/docks/get_scheduled_flow_runs", {"scheduled_before": "2099-01-01T00:00:00Z"})
    with app.step("a run by hand, its states"):
        run = api.json("POST", f"deployments/{deployment}/create_flow_run", {"name": "by hand", "idempotency_key": "once"})["id"]
        app.same(api.json("POST", f"deployments/{deployment}/create_flow_run", {"idempotency_key": "once"})["id"], run)
        for state in ("PENDING", "RUNNING", "COMPLETED"):
            answer = api.json("POST", f"flow_runs/{run}/set_state", {"state": {"type": state, "name": state.title()}, "force": True})
            app.same(answer["status"], "ACCEPT")
        app.same([one["type"] for one in api.json("GET", f"flow_run_states/?flow_run_id={run}")][-1], "COMPLETED")
        api.json("PATCH", f"flow_runs/{run}", {"name": "renamed"})
        api.json("POST", f"flow_runs/{run}/labels", {"x": "y"}, expect=(200, 204, 404, 405))
    with app.step("pause, change, delete"):
        api.json("POST", f"deployments/{deployment}/pause_deployment", {})
        app.same(api.json("GET", f"deployments/{deployment}")["paused"], True)
        api.json("PATCH", f"deployments/{deployment}", {"tags": ["harbour"]})
        api.json("DELETE", f"flow_runs/{run}")
        api.json("DELETE", f"deployments/{deployment}")
        api.json("GET", f"deployments/{deployment}", expect=404)
        api.json("DELETE", "work_pools/docks")


def small_things(app, api):
    with app.step("variables"):
        one = api.json("POST", "variables/", {"name": "wind", "value": {"knots": 12}, "tags": ["sea"]})["id"]
        api.json("PATCH", f"variables/{one}", {"value": {"knots": 15}})
        app.same(api.json("GET", "variables/name/wind")["value"], {"knots": 15})
        app.same(api.json("POST", "variables/count", {"variables": {"tags": {"all_": ["sea"]}}}), 1)
        api.json("DELETE", f"variables/{one}")
    with app.step("concurrency limits"):
        api.json("POST", "v2/concurrency_limits/", {"name": "slots", "limit": 2, "active": True})
        app.same(len(api.json("POST", "v2/concurrency_limits/increment", {"names": ["slots"], "slots": 2, "mode": "concurrency"})), 1)
        api.json("POST", "v2/concurrency_limits/increment", {"names": ["slots"], "slots": 1, "mode": "concurrency"}, expect=423)
        api.json("POST", "v2/concurrency_limits/decrement", {"names": ["slots"], "slots": 2})
    with app.step("blocks"):
        assert api.json("POST", "block_types/filter", {"block_types": {"name": {"like_": "Secret"}}})
        kind = api.json("GET", "block_types/slug/secret")["id"]
        schema = api.json("POST", "block_schemas/filter", {"block_schemas": {"block_type_id": {"any_": [kind]}}})[0]["id"]
        document = api.json("POST", "block_documents/", {"name": "pass", "data": {"value": "x"}, "block_type_id": kind, "block_schema_id": schema})["id"]
        app.same(api.json("GET", "block_types/slug/secret/block_documents/name/pass?include_secrets=true")["data"], {"value": "x"})
        api.json("DELETE", f"block_documents/{document}")
    with app.step("an automation"):
        trigger = {"type": "event", "posture": "Reactive", "expect": ["whale.seen"], "match": {"prefect.resource.id": "*"}, "threshold": 1, "within": 0}
        new = {"name": "look", "trigger": trigger, "actions": [{"type": "do-nothing"}]}
        one = api.json("POST", "automations/", new)["id"]
        api.json("PATCH", f"automations/{one}", {"enabled": False})
        app.same(api.json("POST", "automations/count", {}), 1)
        api.json("DELETE", f"automations/{one}")
