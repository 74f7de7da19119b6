"""What a person does with an application's pages: follows addresses, keeps cookies, fills in forms and sends them."""
import html.parser
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Page:
    """An answer: its status, its address after redirects, its text."""

    def __init__(self, status, url, text):
        self.status, self.url, self.text, self.posted_to = status, url, text, None

    def taken(self):
        """A form that is taken leads elsewhere; one that is not is shown again, with what is wrong."""
        assert self.url != self.posted_to, repr(self)
        return self

    def json(self):
        return json.loads(self.text)

    def form(self, action=""):
        """The first form whose action has this in it, or that has this id, or a field or button of this name."""
        parser = Forms()
        parser.feed(self.text)
        for form in parser.forms:
            if action in form.action or action in form.names:
                return form
        raise AssertionError(f"no form {action!r} in {self.url} ({self.status}): {self.text[:300]!r}")

    def __repr__(self):
        text = re.sub(r"<(head|script|style|nav)\b.*?</\1>|<[^>]*>", " ", self.text, flags=re.S)
        errors = re.findall(r'class="[^"]*(?:error|exception_value|alert|has-error)[^"]*"[^>]*>(.*?)</(?:ul|pre|div|p)>', self.text, re.S)
        said = " ".join(re.sub(r"<[^>]*>", " ", " ".join(errors)).split())
        return f"{self.status} {self.url}: {said[:600] or ' '.join(text.split())[:600]}"


class Form:
    def __init__(self, action):
        self.action, self.fields, self.names = action, [], set()


class Forms(html.parser.HTMLParser):
    """The forms of a page, each with the fields that a browser would send if nobody touched them."""

    def __init__(self):
        super().__init__()
        self.forms, self.open, self.select, self.area = [], None, None, None

    def handle_starttag(self, tag, attributes):
        its = dict(attributes)
        if tag == "form":
            self.open = Form(its.get("action") or "")
            self.open.names.add(its.get("id"))
            self.forms.append(self.open)
        if self.open and its.get("name"):
            self.open.names.add(its["name"])
        if self.open and tag == "input" and its.get("name"):
            kind = its.get("type", "text")
            if kind not in ("submit", "button", "image", "file", "reset") and (kind not in ("checkbox", "radio") or "checked" in its):
                self.open.fields.append((its["name"], its.get("value") or ("on" if kind == "checkbox" else "")))
        elif self.open and tag == "select":
            self.select = its.get("name")
        elif self.open and tag == "option" and self.select and "selected" in its:
            self.open.fields.append((self.select, its.get("value") or ""))
        elif self.open and tag == "textarea":
            self.area = [its.get("name"), ""]

    def handle_data(self, data):
        if self.area:
            self.area[1] += data

    def handle_endtag(self, tag):
        if tag == "form":
            self.open = None
        elif tag == "select":
            self.select = None
        elif tag == "textarea" and self.area:
            if self.open and self.area[0]:
                self.open.fields.append(tuple(self.area))
            self.area = None


class Browser:
    """One visitor of the application at `base`."""

    def __init__(self, base, headers=None, patience=60):
        self.base, self.headers, self.patience = base, headers or {}, patience
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def request(self, method, path, body=None, headers=None):
        url = urllib.parse.urljoin(self.base, path)
        request = urllib.request.Request(url, data=body, method=method, headers={**self.headers, **(headers or {})})
        try:
            with self.opener.open(request, timeout=self.patience) as answer:
                return Page(answer.status, answer.url, answer.read().decode(errors="replace"))
        except urllib.error.HTTPError as error:
            return Page(error.code, error.url, error.read().decode(errors="replace"))

    def get(self, path, expect=200):
        return expected(self.request("GET", path), expect)

    def json(self, method, path, body=None, expect=(200, 201, 202, 204)):
        """Sends JSON; what came back, read."""
        data = None if body is None else json.dumps(body).encode()
        page = expected(self.request(method, path, data, {"Content-Type": "application/json", "Accept": "application/json"}), expect)
        return page.json() if page.text.strip() else None

    def submit(self, path, fields, action="", expect=200, files=None):
        """Opens a page, fills in its form, sends it as a browser does."""
        page = self.get(path)
        form = page.form(action)
        filled = [(name, value) for name, value in form.fields if name not in fields]
        filled += [(name, each) for name, value in fields.items() for each in (value if isinstance(value, list) else [value])]
        body, kind = encoded(filled, files)
        target = urllib.parse.urljoin(page.url, form.action)
        answer = expected(self.request("POST", target, body, {"Content-Type": kind, "Referer": page.url}), expect)
        answer.posted_to = target
        return answer


def encoded(fields, files):
    """The body of a form, and its content type; a file is (name, content type, bytes)."""
    if not files:
        return urllib.parse.urlencode(fields).encode(), "application/x-www-form-urlencoded"
    boundary, body = uuid.uuid4().hex, b""
    for name, value in fields:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for name, (file, kind, data) in files.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\nContent-Type: {kind}\r\n\r\n'
        body += head.encode() + data + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def expected(page, status):
    """The page, if its status is the one, or one of those, expected."""
    if page.status not in (status if isinstance(status, tuple) else (status,)):
        raise AssertionError(repr(page))
    return page
