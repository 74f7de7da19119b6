"""A flow with tasks, a retry, artifacts, and a part that fails."""
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact


@task(retries=1, retry_delay_seconds=0, tags=["measure"])
def length(word):
    attempts.append(word)
    if word == "sea" and attempts.count(word) == 1:
        raise ValueError("not at the first time")
    return len(word)


@flow(name="lengths")
def lengths(words=("whale", "sea", "ship")):
    get_run_logger().info("measuring %s words", len(words))
    found = [length.submit(word) for word in words]
    total = sum(one.result() for one in found)
    create_markdown_artifact(key="total", markdown=f"**{total}**")
    create_table_artifact(key="words", table=[{"word": word} for word in words])
    return total


@flow(name="broken")
def broken():
    raise RuntimeError("always")


attempts = []
if __name__ == "__main__":
    print("TOTAL", lengths())
    print("STATE", broken(return_state=True).type.value)
