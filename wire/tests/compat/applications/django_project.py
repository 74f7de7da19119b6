"""A project with Django: its migrations, `manage.py test`, its management commands, and the admin by its pages."""
import pathlib
import shutil

from browser import Browser
from django_application import ADA, DjangoApplication
from job import python_environment

TITLE, VERSION, LIMIT = "Django", "5.2.19", 600
PROJECT = pathlib.Path(__file__).parent / "projects/django_project"


def install(folder):
    python_environment(folder, f"django=={VERSION}", "psycopg[binary]==3.3.9")


def run(job):
    with DjangoApplication(job, "library") as app:
        shutil.copytree(PROJECT, app.work, dirs_exist_ok=True)
        app.manage("makemigrations", "library")
        app.migrate()
        with app.step("createcachetable"):
            app.manage("createcachetable")
        with app.step("manage.py test"):
            app.manage("test", "--noinput")
        app.runserver()
        use(app, Browser(app.base))
        after(app)


def use(app, browser):
    """What an admin does in a first hour."""
    with app.step("log in", needed=True):
        assert "Site administration" in browser.submit("/admin/login/?next=/admin/", ADA).text
    with app.step("create"):
        for name, born in (("Melville", "1819-08-01"), ("Poe", "1809-01-19")):
            browser.submit("/admin/library/author/add/", {"name": name, "born": born}, action="name")
        for number, (title, price) in enumerate((("Moby-Dick", "9.50"), ("The Raven", "3.00"), ("Typee", "4.25"))):
            fields = {"title": title, "slug": title.lower().replace(" ", "-"), "price": price, "authors": ["1", "2"][:1 + number % 2],
                      "words": "whale,sea", "about": '{"shelf": {"row": %d}}' % (number + 3)}
            page = browser.submit("/admin/library/book/add/", fields, action="title")
            assert "was added successfully" in page.text, page
    with app.step("what the database refuses is said"):
        again = {"title": "MOBY-DICK", "slug": "moby-dick", "price": "1", "authors": ["1"], "words": "", "about": "{}"}
        page = browser.submit("/admin/library/book/add/", again, action="title")
        assert "Book with this Slug already exists" in page.text, page
    with app.step("list, search, filter"):
        assert "3 books" in browser.get("/admin/library/book/").text
        assert "1 result" in browser.get("/admin/library/book/?q=raven").text
        assert "2 authors" in browser.get("/admin/library/author/?o=-2").text
        assert "1 author" in browser.get("/admin/library/author/?born__year=1809").text
        assert browser.get("/admin/autocomplete/?term=mel&app_label=library&model_name=book&field_name=authors").json()["results"]
    with app.step("change, with a loan"):
        page = browser.submit("/admin/library/book/1/change/", {"price": "8.75", "loans-0-reader": "1"}, action="title")
        assert "was changed successfully" in page.text, page
        assert "Changed Price" in browser.get("/admin/library/book/1/history/").text
    with app.step("change in the list"):
        page = browser.submit("/admin/library/book/", {"form-0-price": "7.77", "_save": "Save"}, action="form-TOTAL_FORMS")
        assert "was changed successfully" in page.text, page
    with app.step("delete"):
        page = browser.submit("/admin/library/book/3/delete/", {}, action="post")
        assert "was deleted successfully" in page.text, page
        page = browser.submit("/admin/library/author/2/delete/", {}, action="post")
        app.same(app.rows("SELECT id, name FROM library_author"), [(1, "Melville")])
    with app.step("the application's own pages"):
        app.same(browser.get("/loans/").json()["last"], [["Moby-Dick", "ada"], ["The Raven", None]])
        app.same(browser.get("/search/?q=ravens").json()["text"], ["The Raven"])
    with app.step("users, groups, flat pages"):
        browser.submit("/admin/auth/group/add/", {"name": "Readers", "permissions": ["1", "2"]}, action="name")
        new = {"username": "charles", "password1": "engine-1822", "password2": "engine-1822", "usable_password": "true"}
        assert "was added successfully" in browser.submit("/admin/auth/user/add/", new, action="username").text
        browser.submit("/admin/flatpages/flatpage/add/", {"url": "/about/", "title": "About", "content": "us", "sites": ["1"]}, action="url")
        app.same(app.rows("SELECT count(*) FROM auth_user, django_flatpage_sites"), [(2,)])
    with app.step("log out"):
        browser.submit("/admin/", {}, action="logout")
        assert "login" in browser.get("/admin/").url


def after(app):
    """What an operator does."""
    with app.step("dumpdata, flush, loaddata"):
        (app.work / "dump.json").write_text(app.manage("dumpdata", "--natural-foreign", "-e", "contenttypes", "-e", "auth.permission"))
        before = app.rows("SELECT id, title, price, about::text FROM library_book ORDER BY id")
        app.manage("flush", "--noinput")
        app.same(app.rows("SELECT count(*) FROM library_book"), [(0,)])
        app.manage("loaddata", "dump.json")
        app.same(app.rows("SELECT id, title, price, about::text FROM library_book ORDER BY id"), before)
    with app.step("inspectdb"):
        assert "class LibraryBook(" in app.manage("inspectdb")
    with app.step("sqlsequencereset, clearsessions"):
        assert "setval" in app.manage("sqlsequencereset", "library")
        app.manage("clearsessions")
    with app.step("migrate back"):
        app.manage("migrate", "library", "zero")
        app.same(app.rows("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'library%'"), [(0,)])
