"""pretix: tickets of an event, by its control pages, its API and its shop."""
import re

from browser import Browser
from django_application import DjangoApplication
from job import python_environment

TITLE, VERSION, LIMIT = "pretix", "2026.8.0", 1200
# Whom its first migration makes.
ADMIN = {"email": "admin@localhost", "password": "admin"}


class Pretix(DjangoApplication):
    def manage(self, *arguments, limit=300):
        return self.command(self.python, "-m", "pretix", *arguments, limit=limit)


def install(folder):
    python_environment(folder, f"pretix=={VERSION}")


def run(job):
    with Pretix(job, "pretix") as app:
        app.environment.update(PRETIX_PRETIX_DATADIR=str(app.work), PRETIX_PRETIX_URL=app.base, PRETIX_DATABASE_BACKEND="postgresql", PRETIX_DATABASE_NAME=app.name,
                               PRETIX_DATABASE_USER="postgres", PRETIX_DATABASE_HOST="127.0.0.1", PRETIX_DATABASE_PORT=str(app.port), PRETIX_PRETIX_REGISTRATION="on",
                               PRETIX_DJANGO_DEBUG="on", PRETIX_DJANGO_SECRET="a secret as long as it lives", PRETIX_MAIL_HOST="127.0.0.1")
        with app.step("migrate", needed=True):
            app.manage("migrate", "--noinput", limit=900)
        with app.step("migrate a second time"):
            assert "No migrations to apply" in app.manage("migrate", "--noinput")
        with app.step("start", needed=True):
            app.serve(app.python, "-m", "pretix", "runserver", "--noreload", app.http_port)
        organizer = Browser(app.base)
        api = control(app, organizer)
        event(app, api, organizer)
        orders(app, api)
        shop(app, Browser(app.base), organizer)
        with app.step("management commands"):
            app.manage("runperiodic")
            app.manage("clearsessions")


def control(app, browser):
    """An organizer and a token of the API, by the pages; the API with that token."""
    with app.step("log in", needed=True):
        page = browser.submit("/control/login", ADMIN, action="password")
        assert "/control/" in page.url and "login" not in page.url, page
        browser.submit("/control/", {}, action="sudo")
    with app.step("an organizer", needed=True):
        page = browser.submit("/control/organizers/add", {"name": "Harbour", "slug": "harbour"}, action="slug")
        app.same(app.rows("SELECT name, slug FROM pretixbase_organizer"), [("Harbour", "harbour")])
        page = browser.submit("/control/organizer/harbour/team/1/", {"name": "test"}, action="name")
        token = re.search(r"secret: (\w+)", page.text).group(1)
    return Browser(f"{app.base}/api/v1/organizers/harbour/", {"Authorization": f"Token {token}"})


def event(app, api, organizer):
    with app.step("an event", needed=True):
        api.json("PATCH", "", {"plugins": ["pretix.plugins.banktransfer"]})
        new = {"name": {"en": "Regatta"}, "slug": "regatta", "live": False, "testmode": False, "currency": "EUR", "date_from": "2099-06-01T10:00:00Z", "timezone": "Europe/Berlin",
               "has_subevents": False, "is_public": True, "plugins": ["pretix.plugins.banktransfer", "pretix.plugins.ticketoutputpdf", "pretix.plugins.sendmail", "pretix.plugins.statistics"]}
        app.same(api.json("POST", "events/", new)["slug"], "regatta")
    with app.step("items, quotas, questions"):
        tax = api.json("POST", "events/regatta/taxrules/", {"name": {"en": "VAT"}, "rate": "19.00", "price_includes_tax": True})["id"]
        category = api.json("POST", "events/regatta/categories/", {"name": {"en": "Tickets"}, "position": 1})["id"]
        item = {"name": {"en": "Seat"}, "default_price": "23.00", "category": category, "tax_rule": tax, "admission": True, "active": True, "variations": [],
                "addons": [], "bundles": []}
        seat = api.json("POST", "events/regatta/items/", item)["id"]
        deck = api.json("POST", "events/regatta/items/", {**item, "name": {"en": "Deck"}, "variations": [{"value": {"en": "Sun"}, "active": True, "default_price": None},
                                                                                                 {"value": {"en": "Shade"}, "active": True, "default_price": "30.00"}]})
        variations = [one["id"] for one in deck["variations"]]
        for name, items, kinds, size in (("Seats", [seat], [], 5), ("Decks", [deck["id"]], variations, None)):
            api.json("POST", "events/regatta/quotas/", {"name": name, "size": size, "items": items, "variations": kinds})
        question = {"question": {"en": "Can you swim?"}, "type": "B", "identifier": "SWIM", "required": False, "items": [seat], "options": []}
        api.json("POST", "events/regatta/questions/", question)
        app.same(api.json("GET", "events/regatta/items/?active=true&ordering=position")["count"], 2)
        api.json("PATCH", f"events/regatta/items/{seat}/", {"default_price": "25.00"})
    with app.step("vouchers, a check-in list, the shop goes live"):
        api.json("POST", "events/regatta/vouchers/batch_create/", [{"code": f"WIND{n:04}", "max_usages": 1, "price_mode": "percent", "value": "10.00", "item": seat} for n in range(20)])
        api.json("POST", "events/regatta/checkinlists/", {"name": "Gate", "all_products": True, "limit_products": []})
        api.json("PATCH", "events/regatta/settings/", {"contact_mail": "a@example.org"})
        bank = {"_enabled": "on", "bank_details_type": "sepa", "bank_details_sepa_name": "Harbour", "bank_details_sepa_iban": "DE89370400440532013000",
                "bank_details_sepa_bic": "COBADEFF370", "bank_details_sepa_bank": "Quay", "ack": "on"}
        organizer.submit("/control/event/harbour/regatta/settings/payment/banktransfer", {f"payment_banktransfer_{key}": value for key, value in bank.items()}, action="payment_banktransfer__enabled").taken()
        api.json("PATCH", "events/regatta/", {"live": True})
        app.same(api.json("GET", "events/regatta/quotas/?with_availability=true")["results"][0]["available_number"], 5)


def order(seat, code, **more):
    return {"email": f"{code}@example.org", "locale": "en", "sales_channel": "web", "payment_provider": "banktransfer", "fees": [], "send_email": False,
            "invoice_address": {"is_business": False, "name_parts": {"full_name": code}, "street": "Quay 1", "zipcode": "10115", "city": "Berlin", "country": "DE"},
            "positions": [{"item": seat, "variation": None, "attendee_name_parts": {"full_name": code}, "answers": []} for _ in range(2)], **more}


def orders(app, api):
    seat = app.rows("SELECT id FROM pretixbase_item WHERE default_price = 25")
    with app.step("orders by the API", needed=True):
        seat = seat[0][0]
        first = api.json("POST", "events/regatta/orders/", order(seat, "ada"))
        app.same((first["status"], first["total"], len(first["positions"])), ("n", "50.00", 2))
        code = first["code"]
        api.json("POST", "events/regatta/orders/", order(seat, "bob", status="p"))
        refused = api.json("POST", "events/regatta/orders/", order(seat, "eve"), expect=400)
        assert "quota" in str(refused).lower() or "not" in str(refused).lower(), refused
    with app.step("paid, changed, cancelled"):
        app.same(api.json("POST", f"events/regatta/orders/{code}/mark_paid/", {})["status"], "p")
        position = first["positions"][0]["id"]
        api.json("PATCH", f"events/regatta/orderpositions/{position}/", {"attendee_name": "Ada King"})
        api.json("POST", f"events/regatta/orders/{code}/change/", {"cancel_positions": [{"position": first["positions"][1]["id"]}], "recalculate_taxes": "keep_gross"})
        app.same(api.json("GET", f"events/regatta/orders/{code}/")["total"], "25.00")
        app.same(api.json("GET", "events/regatta/quotas/?with_availability=true")["results"][0]["available_number"], 2)
    with app.step("lists, searches, check-in"):
        app.same(api.json("GET", "events/regatta/orders/?status=p&search=ada&ordering=-datetime&pdf_data=false")["count"], 1)
        app.same(api.json("GET", "events/regatta/orderpositions/?attendee_name=Ada%20King&has_checkin=false")["count"], 1)
        found = api.json("GET", "events/regatta/orderpositions/?search=ada")["results"][0]
        gate = api.json("GET", "events/regatta/checkinlists/")["results"][0]["id"]
        app.same(api.json("POST", f"events/regatta/checkinlists/{gate}/positions/{found['id']}/redeem/", {})["status"], "ok")
        app.same(api.json("POST", f"events/regatta/checkinlists/{gate}/positions/{found['id']}/redeem/", {}, expect=400)["reason"], "already_redeemed")
        app.same(api.json("GET", f"events/regatta/checkinlists/{gate}/status/")["checkin_count"], 1)
    with app.step("a refund, an invoice, an export"):
        api.json("POST", f"events/regatta/orders/{code}/create_invoice/", {}, expect=(201, 400))
        api.json("POST", f"events/regatta/orders/{code}/mark_canceled/", {"send_email": False})
        app.same(api.json("GET", f"events/regatta/orders/{code}/")["status"], "c")
        assert api.json("GET", "events/regatta/exporters/")["count"] > 5
    with app.step("vouchers deleted, the event cloned"):
        voucher = api.json("GET", "events/regatta/vouchers/?code=WIND0003")["results"][0]["id"]
        api.json("DELETE", f"events/regatta/vouchers/{voucher}/")
        app.same(api.json("GET", "events/regatta/vouchers/")["count"], 19)
        new = {"name": {"en": "Regatta II"}, "slug": "second", "date_from": "2100-06-01T10:00:00Z", "currency": "EUR", "live": False, "has_subevents": False}
        app.same(api.json("POST", "events/regatta/clone/", new)["slug"], "second")
        app.same(api.json("GET", "events/second/items/")["count"], 2)
        api.json("DELETE", "events/second/", expect=204)


def shop(app, visitor, organizer):
    """A visitor buys by the pages; the organizer looks at what came in."""
    with app.step("the shop's pages"):
        assert "Regatta" in visitor.get("/harbour/regatta/").text
        assert "Seat" in visitor.get("/harbour/regatta/").text
        visitor.get("/harbour/")
        visitor.get("/harbour/regatta/redeem/?voucher=WIND0003", expect=(200, 302))
    with app.step("the organizer's pages"):
        for path in ("", "orders/", "orders/overview/", "statistics/", "items/", "quotas/", "vouchers/", "checkinlists/", "waitinglist/", "logs/", "orders/import/", "settings/"):
            organizer.get(f"/control/event/harbour/regatta/{path}")
        assert "bob@example.org" in organizer.get("/control/event/harbour/regatta/orders/?query=bob").text
        organizer.get("/control/search/orders/?query=ada")
