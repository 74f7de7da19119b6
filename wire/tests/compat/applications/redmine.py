"""Redmine, from Debian's packages, which are unpacked and not installed: its 300 migrations, its REST interface and its pages."""
import subprocess

import tools

TITLE, VERSION = "Redmine", "5.0.4"
LEFT_OUT_BECAUSE = tools.without("apt-get", "dpkg", "unshare")
# In a namespace of its own, so that nothing outside sees what lies over /usr.
INSIDE = ["unshare", "--map-root-user", "--mount", "sh", tools.INSTALLED / "redmine/in.sh"]
SECRET = "0123456789abcdef" * 4


def install():
    folder = tools.laid("redmine", "steps.rb")
    if not (folder / "unpacked").exists():
        unpack(folder)
    tools.sh(*INSIDE, "sh", folder / "prepare.sh", cwd=folder)


def unpack(folder):
    """Redmine's packages and what they need that is not installed here."""
    wanted = ["redmine", "redmine-pgsql", "dbconfig-no-thanks"]
    told = subprocess.run(["apt-get", "--simulate", "--no-install-recommends", "install", *wanted], stdout=subprocess.PIPE, text=True, check=True).stdout
    packages = [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")]
    (folder / "packages").mkdir(exist_ok=True)
    tools.sh("apt-get", "download", *packages, cwd=folder / "packages")
    for package in sorted((folder / "packages").glob("*.deb")):
        tools.sh("dpkg", "-x", package, folder / "tree", cwd=folder)
    (folder / "unpacked").touch()


def run(address):
    steps = tools.Steps("redmine", address, limit=300)
    dump = steps.folder / "schema.rb"
    steps.environment |= {"RAILS_ENV": "production", "SECRET_KEY_BASE": SECRET, "SCHEMA": "/dev/null", "REDMINE_LANG": "en",
                          "BUNDLE_SILENCE_ROOT_WARNING": "1"}

    def rake(step, *command, **wanted):
        steps.command(step, *INSIDE, "bundle", "exec", "rake", *command, **wanted)

    rake("migrate", "db:migrate", says="DeleteOrphanedTimeEntryActivities: migrated")
    rake("migrate again", "db:migrate")
    rake("three down", "db:rollback", "STEP=3", says="reverted")
    rake("up again", "db:migrate", says="migrated")
    rake("nothing is pending", "db:abort_if_pending_migrations")
    rake("default data", "redmine:load_default_data", says="Default configuration data loaded")
    steps.environment["SCHEMA"] = str(dump)
    rake("the schema is read", "db:schema:dump", answer=lambda _: dump.read_text())
    steps.program("pages", *INSIDE, "bundle", "exec", "rails", "runner", steps.folder / "program.rb")
    return steps.found
