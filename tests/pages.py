"""What a report page loads and what it says."""

import re
from html.parser import HTMLParser


class Loads(HTMLParser):
    """Collects everything that a browser would fetch."""

    def __init__(self, page):
        super().__init__()
        self.found, self.tags, self.text = [], [], []
        self.feed(page)
        self.found += re.findall(r"url\(([^)]*)\)|@import", page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        fetched = {"src", "href", "xlink:href", "srcset", "data", "poster", "action"}
        self.found += [value for name, value in attrs if name in fetched]

    def handle_data(self, data):
        self.text.append(data)


def text_of(page):
    """Give the words of a page, with single spaces between them."""
    return " ".join("".join(Loads(page).text).split())
