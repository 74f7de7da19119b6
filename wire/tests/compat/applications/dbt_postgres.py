"""dbt over a shop: seeds, views, tables, what grows, snapshots, tests, documents. A copy of `projects/dbt_postgres` is its project."""
import json
import pathlib
import shutil

from application import Application
from job import python_environment

TITLE, VERSION, LIMIT = "dbt", "1.10.2", 600
CORE = "1.11.16"
PROJECT = pathlib.Path(__file__).parent / "projects/dbt_postgres"


def install(folder):
    python_environment(folder, f"dbt-core=={CORE}", f"dbt-postgres=={VERSION}")


def run(job):
    with Application(job, "dbt") as app:
        shutil.copytree(PROJECT, app.work, dirs_exist_ok=True)
        app.environment.update(DBT_SEND_ANONYMOUS_USAGE_STATS="false", DBT_USE_COLORS="false", DBT_PROFILES_DIR=str(app.work))
        with app.step("debug", needed=True):
            dbt(app, "debug")
        with app.step("seed", needed=True):
            dbt(app, "seed")
            app.same(app.rows("SELECT count(*), sum(amount) FROM shop.raw_payments")[0][0], 5)
        for name in ("staging", "orders", "customers", "orders_by_day", "orders_merged", "best_customers"):
            with app.step(f"run {name}"):
                dbt(app, "run", "--select", name)
        with app.step("what stands in the tables"):
            app.same([tuple(map(str, row)) for row in app.rows("SELECT name, orders, lifetime_value FROM shop.customers ORDER BY customer_id")],
                     [("Ada Lovelace", "2", "35.00"), ("Charles Babbage", "1", "7.25"), ("Mary Somerville", "1", "99.99")])
            app.same(app.rows("SELECT name FROM shop.best_customers ORDER BY place"), [("Mary Somerville",), ("Ada Lovelace",), ("Charles Babbage",)])
        with app.step("test"):
            dbt(app, "test")
        with app.step("snapshot"):
            dbt(app, "snapshot")
        change(app)
        documents(app)


def dbt(app, *arguments):
    return app.command(app.folder / "venv/bin/dbt", "--no-use-colors", *arguments)


def change(app):
    """New rows, a changed one, one that is gone: then all again."""
    seeds = app.work / "seeds"
    with app.step("seed again"):
        with (seeds / "raw_orders.csv").open("a") as orders:
            orders.write("5,2,2026-03-01,completed\n")
        with (seeds / "raw_payments.csv").open("a") as payments:
            payments.write("6,5,card,12.00\n")
        customers = (seeds / "raw_customers.csv").read_text().replace("Ada,Lovelace,2026-01-01", "Ada,King,2026-04-01")
        (seeds / "raw_customers.csv").write_text(customers.replace("3,Mary,Somerville,2026-01-03 12:45:00\n", ""))
        dbt(app, "seed")
    with app.step("snapshot what changed"):
        dbt(app, "snapshot")
        app.same(app.rows("SELECT id, last_name, dbt_valid_to IS NULL FROM shop_snapshots.customers_over_time ORDER BY id, dbt_valid_from"),
                 [(1, "Lovelace", False), (1, "King", True), (2, "Babbage", True), (3, "Somerville", False)])
    with app.step("run what grows"):
        dbt(app, "run", "--exclude", "for_all")
        app.same(app.rows("SELECT count(*) FROM shop.orders_by_day UNION ALL SELECT count(*) FROM shop.orders_merged"), [(5,), (5,)])
    with app.step("run all anew"):
        dbt(app, "run", "--full-refresh", "--exclude", "for_all")
    with app.step("run-operation, show"):
        assert "COUNT 5" in dbt(app, "run-operation", "count_of", "--args", "{model: orders}")
        assert "Ada King" in dbt(app, "show", "--select", "customers")


def documents(app):
    with app.step("docs generate"):
        dbt(app, "docs", "generate")
        catalog = json.loads((app.work / "target/catalog.json").read_text())
        app.same(catalog["errors"], None)
        app.same(sorted(catalog["nodes"]["model.shop.customers"]["columns"]), ["customer_id", "first_order", "lifetime_value", "name", "orders"])
        app.same(catalog["nodes"]["model.shop.customers"]["metadata"]["comment"], "One row a customer, with what they bought.")
    with app.step("build anew after a schema is dropped"):
        app.job.statements("DROP SCHEMA shop_staging CASCADE", database=app.name)
        dbt(app, "run", "--select", "+orders")
    with app.step("grant"):
        for _ in range(2):
            dbt(app, "run", "--select", "for_all")
        app.same(app.rows("SELECT has_table_privilege('public', 'shop.for_all', 'SELECT')"), [(True,)])
