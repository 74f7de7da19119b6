import datetime

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase

from .models import Author, Book, Loan


class Books(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.reader = get_user_model().objects.create_user("ada", password="lovelace")
        cls.author = Author.objects.create(name="Melville", born=datetime.date(1819, 8, 1))
        cls.book = Book.objects.create(title="Moby-Dick", slug="moby-dick", price="9.50", words=["whale", "sea"], about={"shelf": {"row": 3}})
        cls.book.authors.add(cls.author)

    def test_views(self):
        Loan.objects.create(book=self.book, reader=self.reader)
        answer = self.client.get("/loans/").json()
        self.assertEqual(answer["months"], [1])
        self.assertEqual(answer["last"], [["Moby-Dick", "ada"]])
        self.assertEqual(answer["authors"], [{"authors__name": "Melville", "n": 1, "mean": "9.5000000000000000"}])

    def test_search(self):
        self.assertEqual(self.client.get("/search/", {"q": "moby"}).json(), {key: ["Moby-Dick"] for key in ("text", "json", "contains", "words", "alike")})

    def test_generated(self):
        self.book.refresh_from_db()
        self.assertEqual(self.book.shouted, "MOBY-DICK")
        self.assertIsNotNone(self.book.added)

    def test_lent_once(self):
        Loan.objects.create(book=self.book, reader=self.reader)
        with self.assertRaises(IntegrityError) as raised, transaction.atomic():
            Loan.objects.create(book=self.book, reader=self.reader)
        self.assertEqual(raised.exception.__cause__.diag.constraint_name, "lent_once")

    def test_constraints(self):
        for wrong in ({"price": -1}, {"title": "MOBY-DICK"}):
            with self.subTest(wrong=wrong), self.assertRaises(IntegrityError), transaction.atomic():
                Book.objects.create(**{"title": "Other", "slug": "other", **wrong})

    def test_bulk(self):
        Book.objects.bulk_create([Book(title=f"Book {n}", slug=f"book-{n}", price=n) for n in range(200)])
        Book.objects.bulk_create([Book(title="Renamed", slug="book-7", price=70)], update_conflicts=True, unique_fields=["slug"], update_fields=["title"])
        self.assertEqual(Book.objects.get(slug="book-7").title, "Renamed")
        books = list(Book.objects.filter(price__lt=50).exclude(slug="moby-dick"))
        for book in books:
            book.price += 1
        Book.objects.bulk_update(books, ["price"])
        self.assertEqual(Book.objects.filter(price=50).count(), 2)

    def test_get_or_create(self):
        self.assertEqual([Author.objects.get_or_create(name="Poe")[1] for _ in range(2)], [True, False])
        self.assertFalse(Author.objects.update_or_create(name="Poe", defaults={"born": datetime.date(1809, 1, 19)})[1])

    def test_union_and_iterator(self):
        names = Author.objects.values_list("name").union(Book.objects.values_list("title")).order_by("name")
        self.assertEqual([name for name, in names], ["Melville", "Moby-Dick"])
        self.assertEqual(len(list(Book.objects.iterator(chunk_size=1))), 1)


class Transactions(TransactionTestCase):
    serialized_rollback = True

    def test_select_for_update(self):
        Author.objects.create(name="Poe")
        with transaction.atomic():
            self.assertEqual(Author.objects.select_for_update(skip_locked=True).get().name, "Poe")

    def test_on_commit(self):
        done = []
        with transaction.atomic():
            transaction.on_commit(lambda: done.append(1))
            with self.assertRaises(IntegrityError), transaction.atomic():
                Author.objects.create(pk=5, name="Poe")
                Author.objects.create(pk=5, name="Poe")
        self.assertEqual(done, [1])

    def test_sequences(self):
        first = Author.objects.create(name="Poe").pk
        with connection.cursor() as cursor:
            for statement in connection.ops.sql_flush(self._style(), [Author._meta.db_table], reset_sequences=True, allow_cascade=True):
                cursor.execute(statement)
        self.assertGreaterEqual(first, Author.objects.create(name="Poe").pk)

    def _style(self):
        from django.core.management.color import no_style

        return no_style()
