"""Three tasks in a row, one of them mapped, one that fails, and an asset that wakes another."""
import datetime

from airflow.sdk import Asset, dag, task

cargo = Asset("cargo")


@dag(schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False, tags=["sea", "test"], params={"ports": 2})
def voyage():
    @task
    def ports(**context):
        return [f"port {n}" for n in range(context["params"]["ports"])]

    @task
    def call(port):
        return len(port)

    @task(outlets=[cargo])
    def total(found):
        return sum(found)

    total(call.expand(port=ports()))


@dag(schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False, tags=["test"])
def wreck():
    @task(retries=1, retry_delay=datetime.timedelta(seconds=1))
    def sink():
        raise RuntimeError("under water")

    sink()


@dag(schedule=[cargo], start_date=datetime.datetime(2026, 1, 1), catchup=False)
def unloading():
    @task
    def unload():
        return "done"

    unload()


@dag(schedule="@daily", start_date=datetime.datetime(2026, 1, 1), catchup=False)
def log_book():
    @task
    def write(**context):
        return str(context["logical_date"])

    write()


voyage(), wreck(), unloading(), log_book()
