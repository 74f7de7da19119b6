from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db.models import Avg, Count, F, OuterRef, Subquery, Window
from django.db.models.functions import Rank, TruncMonth
from django.http import JsonResponse

from .models import Book, Loan


def loans(_):
    """Per month and author; each book's last reader; books in order of price."""
    last = Loan.objects.filter(book=OuterRef("pk")).order_by("-since", "-pk")
    return JsonResponse({
        "months": [row["count"] for row in Loan.objects.annotate(month=TruncMonth("since")).values("month").annotate(count=Count("*")).order_by("month")],
        "authors": list(Book.objects.values("authors__name").annotate(n=Count("pk"), mean=Avg("price")).order_by("authors__name")),
        "last": list(Book.objects.annotate(reader=Subquery(last.values("reader__username")[:1])).values_list("title", "reader")),
        "ranks": list(Book.objects.annotate(rank=Window(Rank(), order_by=F("price").desc())).values_list("title", "rank").order_by("rank", "title")),
    })


def search(request):
    """Full text, ranked; by a key of JSON; by a word of the array."""
    vector, query = SearchVector("title", weight="A", config="english") + SearchVector("slug", weight="B", config="english"), SearchQuery(request.GET["q"], config="english")
    ranked = Book.objects.annotate(rank=SearchRank(vector, query), found=vector).filter(found=query).order_by("-rank", "title")
    return JsonResponse({
        "text": [book.title for book in ranked],
        "json": [book.title for book in Book.objects.filter(about__shelf__row=3)],
        "contains": [book.title for book in Book.objects.filter(about__contains={"shelf": {"row": 3}})],
        "words": [book.title for book in Book.objects.filter(words__contains=["whale"])],
        "alike": [book.title for book in Book.objects.filter(title__iregex=r"^m.*k$")],
    })
