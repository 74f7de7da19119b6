#!/usr/bin/env python3
"""The book as one HTML file that needs nothing beside it: the pages of mdBook's print.html, with pictures and style inlined.

    one_file.py BOOK OUTPUT
"""
import base64
import html
import pathlib
import re
import sys

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #222; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-top: 4rem; border-bottom: 1px solid #ccc; } a { color: #1c5fa8; } a.header { color: inherit; text-decoration: none; }
pre { background: #f6f6f3; padding: .7rem 1rem; overflow-x: auto; font-size: 13px; line-height: 1.35; } code { font-family: Menlo, Consolas, monospace; font-size: .9em; }
pre code { font-size: inherit; } table { border-collapse: collapse; margin: 1rem 0; } td, th { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; } nav li { list-style: none; } @media print { h1 { break-before: page; } pre, table { break-inside: avoid; } }
"""


def inlined(book, found):
    file = (book / html.unescape(found.group(2))).resolve()
    if not file.is_file():
        sys.exit(f"a picture is not there: {file}")
    data = base64.b64encode(file.read_bytes()).decode()
    return f'{found.group(1)}data:image/svg+xml;base64,{data}"'


def main():
    book, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = (book / "print.html").read_text()
    main_part = re.search(r"<main>(.*)</main>", page, re.DOTALL).group(1)
    # What enlarges a picture at a click.
    main_part = re.sub(r'<label class="checkbox-label"><input[^>]*>(<img[^>]*>)<span class="img-wrapper">.*?</span></label>', r"\1", main_part)
    main_part = re.sub(r"<script.*?</script>", "", main_part, flags=re.DOTALL)
    main_part = re.sub(r'(<img src=")([^":]+\.svg)"', lambda found: inlined(book, found), main_part)
    anchors = set(re.findall(r'id="([^"]+)"', main_part))
    contents = [(anchor, title) for anchor, title in re.findall(r'<h1 id="([^"]+)">(.*?)</h1>', main_part, re.DOTALL)]
    listed = "\n".join(f'<li><a href="#{anchor}">{re.sub("<[^>]+>", "", title)}</a></li>' for anchor, title in contents)
    broken = [target for target in re.findall(r'href="#([^"]+)"', main_part) if target not in anchors]
    if broken or not contents:
        sys.exit(f"links that lead nowhere in the one file: {broken}")
    left = [target for target in re.findall(r'href="([^"#][^"]*)"', main_part) if not re.match(r"[a-z]+:", target)]
    if left:
        sys.exit(f"links out of the one file: {left}")
    output.write_text(f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Dogwood</title><style>{STYLE}</style></head>\n"
                      f"<body><nav><ul>\n{listed}\n</ul></nav>\n{main_part}\n</body></html>\n")


if __name__ == "__main__":
    main()
