"""Assets, a job, partitions, a check, a schedule and a sensor."""
import dagster as dg

days = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-11")


@dg.asset(kinds={"python"}, tags={"sea": "yes"}, owners=["team:ships"])
def whales(context):
    context.add_output_metadata({"rows": 3})
    return ["blue", "grey", "white"]


@dg.asset
def counted(whales):
    return len(whales)


@dg.asset(partitions_def=days)
def daily(context):
    return context.partition_key


@dg.asset_check(asset=counted)
def is_three(counted):
    return dg.AssetCheckResult(passed=counted == 3)


@dg.op(retry_policy=dg.RetryPolicy(max_retries=1))
def sinks(context):
    raise RuntimeError("under water")


@dg.job
def sinking():
    sinks()


everything = dg.define_asset_job("everything", selection=["whales", "counted"])
hourly = dg.ScheduleDefinition(job=everything, cron_schedule="0 * * * *")


@dg.sensor(job=everything, minimum_interval_seconds=5)
def watch(context):
    context.update_cursor("seen")
    yield dg.RunRequest(run_key="once", tags={"from": "watch"})


defs = dg.Definitions(assets=[whales, counted, daily], asset_checks=[is_three], jobs=[everything, sinking], schedules=[hourly], sensors=[watch])
