"""What `wagtail start` makes: a site, its editors, its search, unchanged but for the database."""
import struct
import zlib

from browser import Browser
from django_application import ADA, DjangoApplication
from job import python_environment

TITLE, VERSION, LIMIT = "wagtail", "8.0.1", 600
LOCAL = """
import os
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": os.environ["COMPAT_PORT"], "USER": "postgres",
                         "NAME": os.environ["COMPAT_DATABASE"]}}
"""


def install(folder):
    python_environment(folder, f"wagtail=={VERSION}", "psycopg[binary]==3.3.9")


def run(job):
    with DjangoApplication(job, "wagtail") as app:
        app.command(app.folder / "venv/bin/wagtail", "start", "mysite", ".")
        # Its settings of development end with these, if they are there.
        (app.work / "mysite/settings/local.py").write_text(LOCAL)
        app.migrate()
        with app.step("manage.py test"):
            app.manage("test", "--noinput", limit=400)
        app.runserver()
        editor = Browser(app.base)
        pages(app, editor)
        media(app, editor)
        after(app)


def saved(page):
    assert "page-status-tag" in page.text or "has been" in page.text or "created" in page.text or "published" in page.text, page
    return page


def children(app, parent=3):
    return app.rows(f"SELECT child.title FROM wagtailcore_page child JOIN wagtailcore_page parent ON child.path LIKE parent.path || '____' "
                    f"WHERE parent.id = {parent} ORDER BY child.path")


def pages(app, editor):
    """An editor writes, publishes, moves, and takes back."""
    with app.step("log in", needed=True):
        page = editor.submit("/admin/login/", ADA, action="username")
        assert page.url.endswith("/admin/"), page
    with app.step("create pages"):
        for title in ("Whales", "Ships", "Harbours"):
            saved(editor.submit("/admin/pages/add/home/homepage/3/", {"title": title, "slug": title.lower(), "action-publish": "action-publish"}, action="title"))
        app.same(children(app), [("Whales",), ("Ships",), ("Harbours",)])
    whales = app.rows("SELECT id FROM wagtailcore_page WHERE slug = 'whales'")[0][0]
    with app.step("a draft, then published"):
        saved(editor.submit(f"/admin/pages/{whales}/edit/", {"title": "White whales"}, action="title"))
        app.same(app.rows(f"SELECT title, draft_title, has_unpublished_changes FROM wagtailcore_page WHERE id = {whales}"), [("Whales", "White whales", True)])
        saved(editor.submit(f"/admin/pages/{whales}/edit/", {"action-publish": "action-publish"}, action="title"))
        assert "White whales" in editor.get("/whales/").text
    with app.step("list, history, usage"):
        assert "White whales" in editor.get("/admin/pages/3/").text
        assert "Published" in editor.get(f"/admin/pages/{whales}/history/").text
        editor.get("/admin/pages/usage/home/homepage/")
        editor.get("/admin/reports/site-history/")
    with app.step("move and copy"):
        ships = app.rows("SELECT id FROM wagtailcore_page WHERE slug = 'ships'")[0][0]
        editor.submit(f"/admin/pages/{ships}/move/{whales}/confirm/", {}, action="move")
        app.same((children(app, whales), children(app)), ([("Ships",)], [("White whales",), ("Harbours",)]))
        fields = {"new_title": "Whales again", "new_slug": "whales-again", "new_parent_page": "3", "copy_subpages": "on", "publish_copies": "on"}
        editor.submit(f"/admin/pages/{whales}/copy/", fields, action="new_title")
        app.same(app.rows("SELECT count(*) FROM wagtailcore_page WHERE depth = 4"), [(2,)])
    with app.step("search"):
        assert "White whales" in editor.get("/admin/pages/search/?q=whale").text
        assert "White whales" in editor.get("/search/?query=white").text
        assert "No results found" in editor.get("/search/?query=elephant").text
    with app.step("unpublish and delete"):
        editor.submit(f"/admin/pages/{ships}/unpublish/", {}, action="unpublish")
        editor.get("/whales/ships/", expect=404)
        editor.submit(f"/admin/pages/{ships}/delete/", {}, action="delete")
        app.same(children(app, whales), [])


def media(app, editor):
    """Images and documents, redirects, people."""
    with app.step("an image and a document"):
        editor.submit("/admin/images/add/", {"title": "A wave", "tags": "sea, blue"}, action="title", files={"file": ("wave.png", "image/png", picture())})
        editor.submit("/admin/documents/add/", {"title": "A log", "tags": "sea"}, action="title", files={"file": ("log.txt", "text/plain", b"calm")})
        app.same(app.rows("SELECT title, width FROM wagtailimages_image UNION SELECT title, file_size FROM wagtaildocs_document ORDER BY 1"), [("A log", 4), ("A wave", 8)])
        assert "A wave" in editor.get("/admin/images/?q=wave").text
        assert "A wave" in editor.get("/admin/images/?tag=blue").text
    with app.step("a redirect"):
        page = editor.submit("/admin/redirects/add/", {"old_path": "/old", "redirect_link": f"{app.base}/whales/", "is_permanent": "on"}, action="old_path")
        assert editor.get("/old").url.endswith("/whales/"), page
    with app.step("a user and a group"):
        fields = {"username": "charles", "email": "c@example.org", "first_name": "C", "last_name": "B", "password1": "engine-1822", "password2": "engine-1822", "groups": ["1", "2"]}
        editor.submit("/admin/users/new/", fields, action="username")
        app.same(app.rows("SELECT username FROM auth_user ORDER BY id"), [("ada",), ("charles",)])
        assert "charles" in editor.get("/admin/users/?q=char").text
    with app.step("an editor sends a page to a moderator"):
        fields = {"username": "edith", "email": "e@example.org", "first_name": "E", "last_name": "C", "password1": "engine-1822", "password2": "engine-1822", "groups": "2"}
        editor.submit("/admin/users/new/", fields, action="username")
        edith = Browser(app.base)
        edith.submit("/admin/login/", {"username": "edith", "password": "engine-1822"}, action="username")
        saved(edith.submit("/admin/pages/add/home/homepage/3/", {"title": "Reefs", "slug": "reefs", "action-submit": "true"}, action="title"))
        state = app.rows("SELECT status FROM wagtailcore_workflowstate")
        app.same(state, [("in_progress",)])
        assert "Reefs" in editor.get("/admin/").text


def after(app):
    with app.step("management commands"):
        app.manage("update_index")
        app.manage("rebuild_references_index")
        assert "No problems found" in app.manage("fixtree")
        app.manage("publish_scheduled")
        app.manage("purge_revisions")


def picture():
    """A grey image of 8 × 8 pixels."""
    def chunk(kind, data):
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    head = struct.pack("!IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes([0] + [128] * 8) * 8)) + chunk(b"IEND", b"")
