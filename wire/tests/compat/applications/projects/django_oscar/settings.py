"""A shop with django-oscar, with the settings that its documents begin with."""
import os

from oscar import INSTALLED_APPS as OSCAR_APPS
from oscar.defaults import *  # noqa: F403

SECRET_KEY = "not a secret: this project lives as long as a test"
DEBUG = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [*OSCAR_APPS, "sorl.thumbnail"]
SITE_ID = 1
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware", "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
]
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"]
ROOT_URLCONF = "urls"
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.debug", "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.template.context_processors.i18n", "django.contrib.messages.context_processors.messages", "oscar.apps.search.context_processors.search_form",
        "oscar.apps.checkout.context_processors.checkout", "oscar.apps.communication.notifications.context_processors.notifications",
        "oscar.core.context_processors.metadata"]},
}]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": os.environ["COMPAT_PORT"], "USER": "postgres",
                         "NAME": os.environ["COMPAT_DATABASE"], "ATOMIC_REQUESTS": True}}
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
STATIC_URL, MEDIA_URL, MEDIA_ROOT = "static/", "media/", "media"
USE_TZ = True
OSCAR_INITIAL_ORDER_STATUS = OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {"Pending": ("Being processed", "Cancelled"), "Being processed": ("Complete", "Cancelled"), "Cancelled": ()}
