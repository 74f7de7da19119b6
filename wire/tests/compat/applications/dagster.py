"""Dagster with its runs, events and schedules in the database: materialized by its command, its web server and its daemon."""
import json
import pathlib
import shutil

from application import Application
from browser import Browser
from job import python_environment

TITLE, VERSION, LIMIT = "Dagster", "1.13.27", 600
STORAGE = "0.29.27"
PROJECT = pathlib.Path(__file__).parent / "projects/dagster"


def install(folder):
    python_environment(folder, f"dagster=={VERSION}", f"dagster-postgres=={STORAGE}", f"dagster-webserver=={VERSION}")


def run(job):
    with Application(job, "dagster") as app:
        shutil.copytree(PROJECT, app.work, dirs_exist_ok=True)
        app.environment["DAGSTER_HOME"] = str(app.work)
        # JSON is YAML.
        (app.work / "dagster.yaml").write_text(json.dumps({"telemetry": {"enabled": False}, "storage": {"postgres": {"postgres_url": app.url.replace("postgresql:", "postgresql+psycopg2:")}}}))
        with app.step("migrate", needed=True):
            dagster(app, "instance", "migrate")
            assert app.rows("SELECT version_num FROM alembic_version")
        with app.step("materialize"):
            dagster(app, "asset", "materialize", "--select", "*whales,counted", "-f", "definitions.py")
            dagster(app, "asset", "materialize", "--select", "daily", "--partition", "2026-01-02", "-f", "definitions.py")
        with app.step("start", needed=True):
            app.serve(app.folder / "venv/bin/dagster-webserver", "-h", "127.0.0.1", "-p", app.http_port, "-f", "definitions.py")
            app.serve(app.folder / "venv/bin/dagster-daemon", "run", "-f", "definitions.py")
            app.eventually(lambda: app.rows("SELECT count(*) FROM daemon_heartbeats")[0][0] >= 4)
        web = Browser(app.base)
        look(app, web)
        launch(app, web)
        by_itself(app, web)
        with app.step("reindex, wipe"):
            dagster(app, "instance", "reindex")
            dagster(app, "asset", "wipe", "--all", "--noprompt")
            assert not ask(web, "{ assetNodes { assetMaterializations { runId } } }")["assetNodes"][0]["assetMaterializations"]


def dagster(app, *arguments):
    return app.command(app.folder / "venv/bin/dagster", *arguments)


def ask(web, query, **variables):
    """An answer of its GraphQL; what is wrong in it is a failure."""
    answer = web.json("POST", "/graphql", {"query": query, "variables": variables})
    if answer.get("errors") or "PythonError" in json.dumps(answer):
        raise AssertionError(json.dumps(answer)[:800])
    return answer["data"]


def look(app, web):
    with app.step("runs and their events"):
        runs = ask(web, "{ runsOrError(limit: 10) { ... on Runs { results { runId status tags { key value } } count } } }")["runsOrError"]
        app.same({one["status"] for one in runs["results"]}, {"SUCCESS"})
        events = ask(web, "query($id: ID!) { logsForRun(runId: $id) { __typename ... on EventConnection { events { __typename } hasMore } } }",
                     id=runs["results"][0]["runId"])["logsForRun"]["events"]
        assert {"RunStartEvent", "MaterializationEvent", "RunSuccessEvent"} <= {one["__typename"] for one in events}, events
        stats = ask(web, "query($id: ID!) { runOrError(runId: $id) { ... on Run { stats { ... on RunStatsSnapshot { stepsSucceeded materializations } } stepStats { stepKey status } } } }",
                    id=runs["results"][0]["runId"])
        app.same(stats["runOrError"]["stats"]["stepsSucceeded"], 1)
    with app.step("assets, their checks and partitions"):
        found = ask(web, """{ assetNodes { assetKey { path } assetMaterializations(limit: 1) { runId partition metadataEntries { label } } latestMaterializationByPartition { partition }
                     assetPartitionStatuses { __typename } assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } } } }""")
        assert all(one["assetMaterializations"] for one in found["assetNodes"]), found
        health = ask(web, "{ assetsOrError { ... on AssetConnection { nodes { key { path } assetHealth { assetHealth } } } } }")
        app.same(len(health["assetsOrError"]["nodes"]), 3)
    with app.step("by tags and times"):
        query = "query($f: RunsFilter!) { runsOrError(filter: $f) { ... on Runs { results { runId } } } runTagsOrError(tagKeys: [\"dagster/partition\"]) { ... on RunTags { tags { key values } } } }"
        found = ask(web, query, f={"tags": [{"key": "dagster/partition", "value": "2026-01-02"}], "statuses": ["SUCCESS"], "createdAfter": 1.0})
        app.same((len(found["runsOrError"]["results"]), found["runTagsOrError"]["tags"][0]["values"]), (1, ["2026-01-02"]))


LAUNCH = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename ... on LaunchRunSuccess { run { runId } }
            ... on PythonError { message } ... on RunConfigValidationInvalid { errors { message } } } }"""


def selector(web, job):
    found = ask(web, "{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }")["repositoriesOrError"]["nodes"][0]
    return {"repositoryName": found["name"], "repositoryLocationName": found["location"]["name"], "pipelineName": job}


def launched(app, web, job):
    """The status with which a run that is launched by the web ends."""
    params = {"selector": selector(web, job), "runConfigData": {}, "mode": "default"}
    run = ask(web, LAUNCH, p=params)["launchRun"]["run"]["runId"]

    def ended():
        status = ask(web, "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }", id=run)["runOrError"]["status"]
        return status if status in ("SUCCESS", "FAILURE") else None

    return run, app.eventually(ended, 120)


def launch(app, web):
    with app.step("launch a job"):
        app.same(launched(app, web, "everything")[1], "SUCCESS")
    with app.step("a job that fails, and is deleted"):
        run, status = launched(app, web, "sinking")
        app.same(status, "FAILURE")
        ask(web, "mutation($id: String!) { deletePipelineRun(runId: $id) { __typename } }", id=run)
        app.same(app.rows(f"SELECT count(*) FROM runs WHERE run_id = '{run}'"), [(0,)])


def by_itself(app, web):
    """What the daemon runs because of a sensor or a schedule, and a backfill of many partitions."""
    where = {key: value for key, value in selector(web, "").items() if key != "pipelineName"}
    with app.step("a sensor and a schedule"):
        ask(web, "mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) { __typename } }", s={**where, "sensorName": "watch"})
        ask(web, "mutation($s: ScheduleSelector!) { startSchedule(scheduleSelector: $s) { __typename } }", s={**where, "scheduleName": "everything_schedule"})
        app.eventually(lambda: app.rows("SELECT count(*) FROM runs r JOIN run_tags t USING (run_id) WHERE t.key = 'from' AND r.status = 'SUCCESS'")[0][0], 120)
        ask(web, "mutation($s: SensorSelector!) { resetSensor(sensorSelector: $s) { __typename } }", s={**where, "sensorName": "watch"})
    with app.step("a backfill"):
        params = {"assetSelection": [{"path": ["daily"]}], "partitionNames": ["2026-01-03", "2026-01-04"]}
        answer = ask(web, "mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) { __typename ... on LaunchBackfillSuccess { backfillId } } }", p=params)
        app.same(answer["launchPartitionBackfill"]["__typename"], "LaunchBackfillSuccess")
        app.eventually(lambda: app.rows("SELECT status FROM bulk_actions")[0][0] == "COMPLETED_SUCCESS", 180)
