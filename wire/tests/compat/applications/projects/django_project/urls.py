from django.contrib import admin
from django.urls import path
from library import views

urlpatterns = [path("admin/", admin.site.urls), path("loans/", views.loans), path("search/", views.search)]
