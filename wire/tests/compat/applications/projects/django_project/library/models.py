import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.db import models
from django.db.models.functions import Lower, Now, Upper


class Author(models.Model):
    name = models.CharField(max_length=100, db_index=True)
    born = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self):
        return self.name


class Book(models.Model):
    isbn = models.UUIDField(default=uuid.uuid4, unique=True)
    title = models.CharField(max_length=200)
    slug = models.SlugField(unique=True)
    authors = models.ManyToManyField(Author, related_name="books")
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    words = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    about = models.JSONField(default=dict, blank=True)
    added = models.DateTimeField(db_default=Now(), editable=False)
    shouted = models.GeneratedField(expression=Upper("title"), output_field=models.TextField(), db_persist=True)

    class Meta:
        ordering = ["title"]
        indexes = [models.Index(Lower("title"), name="book_lower_title"), GinIndex(fields=["about"], name="book_about"),
                   GinIndex(fields=["words"], name="book_words"), BrinIndex(fields=["added"], name="book_added"),
                   models.Index(fields=["-price", "title"], include=["slug"], name="book_price")]
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="book_price_not_negative"),
                       models.UniqueConstraint(Lower("title"), name="book_title_once")]

    def __str__(self):
        return self.title


class Loan(models.Model):
    book = models.ForeignKey(Book, on_delete=models.CASCADE, related_name="loans")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    since = models.DateField(auto_now_add=True)
    back = models.DateField(null=True, blank=True)
    took = models.DurationField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["book"], condition=models.Q(back__isnull=True), name="lent_once",
                                               violation_error_message="This book is lent.")]
