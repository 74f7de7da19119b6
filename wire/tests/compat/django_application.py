"""An application that is made with Django: its `manage.py`, and the steps that all of these have."""
from application import Application

ADA = {"username": "ada", "password": "lovelace-1815"}


class DjangoApplication(Application):
    """`project` is where `manage.py` stands: `app.work`, unless a module says otherwise."""

    def __enter__(self):
        super().__enter__()
        self.project = self.work
        self.environment.update(DJANGO_SUPERUSER_PASSWORD=ADA["password"], DJANGO_SUPERUSER_USERNAME=ADA["username"], DJANGO_SUPERUSER_EMAIL="ada@example.org")
        return self

    def manage(self, *arguments, limit=300):
        return self.command(self.python, "manage.py", *arguments, cwd=self.project, limit=limit)

    def migrate(self):
        """All migrations from nothing; then none is left, neither to run nor to write; and a first user."""
        with self.step("migrate", needed=True):
            self.manage("migrate", "--noinput", limit=600)
        with self.step("migrate a second time"):
            assert "No migrations to apply" in self.manage("migrate", "--noinput")
        with self.step("makemigrations finds nothing"):
            self.manage("makemigrations", "--check", "--dry-run")
        with self.step("createsuperuser", needed=True):
            self.manage("createsuperuser", "--noinput")

    def runserver(self):
        with self.step("start", needed=True):
            self.serve(self.python, "manage.py", "runserver", "--noreload", self.http_port, cwd=self.project)
