from django.contrib import admin

from .models import Author, Book, Loan


class LoanInline(admin.TabularInline):
    model = Loan
    extra = 1


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    list_display = ["name", "born"]
    search_fields = ["name"]
    date_hierarchy = "born"


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ["title", "price", "added", "shouted"]
    list_editable = ["price"]
    list_filter = ["authors", "added"]
    search_fields = ["title", "authors__name"]
    prepopulated_fields = {"slug": ["title"]}
    autocomplete_fields = ["authors"]
    date_hierarchy = "added"
    inlines = [LoanInline]


admin.site.register(Loan)
