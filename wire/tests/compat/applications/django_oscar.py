"""A shop with django-oscar: its dashboard, a customer who buys, and what becomes of the order."""
import pathlib
import shutil

from browser import Browser
from django_application import ADA, DjangoApplication
from job import python_environment

TITLE, VERSION, LIMIT = "django-oscar", "4.2.1", 600
PROJECTS = pathlib.Path(__file__).parent / "projects"
GRACE = {"email": "grace@example.org", "password1": "cobol-1959-navy", "password2": "cobol-1959-navy"}


def install(folder):
    python_environment(folder, f"django-oscar[sorl-thumbnail]=={VERSION}", "psycopg[binary]==3.3.9", "pycountry")


def run(job):
    with DjangoApplication(job, "oscar") as app:
        shutil.copytree(PROJECTS / "django_oscar", app.work, dirs_exist_ok=True)
        shutil.copy(PROJECTS / "django_project/manage.py", app.work)
        app.migrate()
        with app.step("countries"):
            app.manage("oscar_populate_countries")
        app.runserver()
        seller, buyer = Browser(app.base), Browser(app.base)
        catalogue(app, seller)
        buying(app, buyer)
        selling(app, seller)
        with app.step("management commands"):
            for name in ("oscar_calculate_scores", "oscar_send_alerts", "oscar_cleanup_alerts", "oscar_update_product_ratings"):
                app.manage(name)


def catalogue(app, seller):
    with app.step("log in", needed=True):
        seller.submit("/dashboard/login/", {"username": "ada@example.org", "password": ADA["password"]}, action="username")
        page = seller.get("/dashboard/")
        assert page.url.endswith("/dashboard/"), page
    with app.step("a product type, categories, a partner"):
        fields = {"name": "Book", "requires_shipping": "on", "track_stock": "on", "attributes-0-name": "pages", "attributes-0-code": "pages", "attributes-0-type": "integer"}
        seller.submit("/dashboard/catalogue/product-type/create/", fields, action="name").taken()
        for name, parent in (("Fiction", None), ("Sea", 1), ("Land", 1)):
            position = {"treebeard_position": "first-child", "treebeard_ref_node": str(parent or "")}
            seller.submit("/dashboard/catalogue/categories/create/", {"name": name, "slug": name.lower(), "is_public": "on", **position}, action="name").taken()
        app.same(app.rows("SELECT name, depth, numchild FROM catalogue_category ORDER BY path"), [("Fiction", 1, 2), ("Land", 2, 0), ("Sea", 2, 0)])
        seller.submit("/dashboard/partners/create/", {"name": "Harper", "line1": "Cliff St", "country": "US"}, action="name").taken()
    with app.step("products"):
        for number, title in enumerate(("Moby-Dick", "Typee", "Omoo")):
            fields = {"title": title, "slug": title.lower(), "upc": f"97800{number}", "is_public": "on", "attr_pages": str(300 + number), "is_discountable": "on",
                      "productcategory_set-0-category": "2", "stockrecords-0-partner": "1", "stockrecords-0-partner_sku": f"S{number}",
                      "stockrecords-0-price_currency": "GBP", "stockrecords-0-price": f"{10 + number}.50", "stockrecords-0-num_in_stock": "20", "action": "save"}
            seller.submit("/dashboard/catalogue/products/create/book/", fields, action="upc").taken()
        app.same(app.rows("SELECT count(*) FROM catalogue_product p JOIN partner_stockrecord s ON s.product_id = p.id JOIN catalogue_productattributevalue v ON v.product_id = p.id"), [(3,)])
    with app.step("search and sort products"):
        assert "Typee" in seller.get("/dashboard/catalogue/?title=typ").text
        seller.get("/dashboard/catalogue/?sort=-title")
    with app.step("a range, an offer, a voucher"):
        seller.submit("/dashboard/ranges/create/", {"name": "All", "includes_all_products": "on", "is_public": "on"}, action="name").taken()
        fields = {"name": "Ten off", "code": "TENOFF", "start_datetime": "2020-01-01 00:00", "end_datetime": "2099-01-01 00:00", "usage": "Multi-use", "offers": []}
        seller.submit("/dashboard/offers/new/metadata/", {"name": "Ten percent", "offer_type": "Voucher"}, action="offer_type").taken()
        seller.submit("/dashboard/offers/new/incentive/", {"range": "1", "type": "Percentage", "value": "10"}, action="value").taken()
        seller.submit("/dashboard/offers/new/condition/", {"range": "1", "type": "Count", "value": "1"}, action="value").taken()
        seller.submit("/dashboard/offers/new/restrictions/", {"status": "Open", "priority": "1"}, action="priority").taken()
        seller.submit("/dashboard/vouchers/create/", {**fields, "offers": ["1"]}, action="code").taken()
        app.same(app.rows("SELECT code FROM voucher_voucher JOIN voucher_voucher_offers o ON o.voucher_id = voucher_voucher.id"), [("TENOFF",)])


def buying(app, buyer):
    """A visitor looks, registers, fills a basket and pays."""
    with app.step("look"):
        for path in ("/catalogue/", "/catalogue/category/fiction_1/", "/search/?q=Typee"):
            buyer.get(path)
        assert "10.50" in buyer.get("/catalogue/moby-dick_1/").text
    product = app.rows("SELECT id, slug FROM catalogue_product WHERE title = 'Typee'")
    product, slug = product[0] if product else (0, "typee")
    with app.step("fill a basket, register"):
        buyer.submit(f"/catalogue/{slug}_{product}/", {"quantity": "2"}, action="quantity")
        buyer.submit("/accounts/register/", GRACE, action="password2").taken()
        app.same(app.rows("SELECT l.quantity, b.status FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id WHERE b.owner_id = 2"), [(2, "Open")])
    with app.step("a voucher, another quantity"):
        assert "10" in buyer.submit("/basket/", {"code": "TENOFF"}, action="code").text
        buyer.submit("/basket/", {"form-0-quantity": "3"}, action="form-TOTAL_FORMS")
        app.same(app.rows("SELECT quantity FROM basket_line"), [(3,)])
    with app.step("pay", needed=True):
        address = {"first_name": "Grace", "last_name": "Hopper", "line1": "1 Navy Yard", "line4": "New York", "postcode": "10001", "country": "US"}
        page = buyer.submit("/checkout/shipping-address/", address, action="first_name")
        assert "/checkout/" in page.url, page
        page = buyer.submit("/checkout/preview/", {}, action="action")
        assert "thank-you" in page.url, page
        app.same([tuple(map(str, row)) for row in app.rows("SELECT status, total_incl_tax, num_in_stock, num_allocated FROM order_order, partner_stockrecord WHERE partner_sku = 'S1'")],
                 [("Pending", "31.05", "20", "3")])
    with app.step("what the buyer sees"):
        number = app.rows("SELECT number FROM order_order")[0][0]
        assert number in buyer.get("/accounts/orders/").text
        assert "Typee" in buyer.get(f"/accounts/orders/{number}/").text
        assert "1 Navy Yard" in buyer.get("/accounts/addresses/").text
    with app.step("a review, a wish"):
        buyer.submit(f"/catalogue/{slug}_{product}/reviews/add/", {"title": "Good", "score": "4", "body": "Palms."}, action="score").taken()
        app.same(app.rows("SELECT rating FROM catalogue_product WHERE title = 'Typee'"), [(4.0,)])
        buyer.submit("/accounts/wishlists/create/", {"name": "Later", "visibility": "Private"}, action="name").taken()


def selling(app, seller):
    """The order is worked on, and counted."""
    number = app.rows("SELECT number FROM order_order")[0][0]
    with app.step("orders"):
        assert number in seller.get("/dashboard/orders/?order_number=" + number).url
        page = seller.get("/dashboard/orders/?product_title=Typee&status=Pending&response_format=html")
        assert f"/{number}/" in page.text, page
        seller.submit(f"/dashboard/orders/{number}/", {"order_action": "change_order_status", "new_status": "Being processed"}, action="new_status")
        seller.submit(f"/dashboard/orders/{number}/", {"order_action": "save_note", "message": "soon"}, action="message")
        app.same(app.rows("SELECT status, message FROM order_order o JOIN order_ordernote n ON n.order_id = o.id WHERE n.note_type <> 'System'"), [("Being processed", "soon")])
    with app.step("statistics and reports"):
        assert "31.05" in seller.get("/dashboard/orders/statistics/").text
        for code in ("order_report", "product_analytics", "user_analytics", "open_baskets", "submitted_baskets", "vouchers", "conditional-offers"):
            seller.get(f"/dashboard/reports/?report_type={code}&date_from=2020-01-01&date_to=2099-01-01")
        assert "grace" in seller.get("/dashboard/users/?email=grace").text
        seller.get("/dashboard/reviews/")
    with app.step("delete a product"):
        last = app.rows("SELECT id FROM catalogue_product WHERE title = 'Omoo'")[0][0]
        seller.submit(f"/dashboard/catalogue/products/{last}/delete/", {}, action="delete_product_form").taken()
        app.same(app.rows("SELECT title FROM catalogue_product ORDER BY 1"), [("Moby-Dick",), ("Typee",)])
