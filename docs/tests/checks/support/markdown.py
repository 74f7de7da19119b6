"""Markdown as the documents use it: fenced blocks, prose, headings and links, each with its line. Knows nothing of servers."""
import re
import unicodedata

FENCE = re.compile(r"^(\s*)(`{3,})\s*([^`]*)$")
LINK = re.compile(r"(?<!\\)!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
# A sentence ends here; an abbreviation's or a number's full stop does not.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*_`\[]*[A-Z0-9`…])")
WORD = re.compile(r"[\w`]")


class Block:
    """A fenced block: its language, its flags, its first line's number (the fence) and its text."""

    def __init__(self, info, line):
        words = [word.strip() for word in info.strip().split(",")]
        self.language, self.flags = words[0], words[1:]
        self.line = line
        self.lines = []
        self.end = None

    def __repr__(self):
        return f"{self.language} at {self.line}"


class Page:
    """One file. `blocks` in their order, `prose` as (line, text) of paragraphs and list items, `links` as (line, target), and
    the anchors that its headings make."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.split("\n")
        self.blocks, self.prose, self.links, self.anchors, self.tables = [], [], [], set(), []
        self._read()

    def _read(self):
        block, paragraph, table = None, None, None
        for number, line in enumerate(self.lines, 1):
            if block is not None:
                if line.strip() == "`" * block.ticks:
                    block.end = number
                    self.blocks.append(block)
                    block = None
                else:
                    block.lines.append(line)
                continue
            fence = FENCE.match(line)
            heading = re.match(r"^#{1,6} +(.*)", line)
            is_row = line.startswith("|")
            item = re.match(r"^\s*(?:[-*]|\d+\.) +(.*)", line)
            for link in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                self.links.append((number, link.group(1)))
            if table is not None and not is_row:
                self.tables.append(table)
                table = None
            if fence or heading or is_row or item or not line.strip() or line.startswith("<"):
                if paragraph:
                    self.prose.append(paragraph)
                paragraph = None
            if fence:
                block = Block(fence.group(3), number)
                block.ticks = len(fence.group(2))
            elif heading:
                self._anchor(heading.group(1))
            elif is_row:
                table = table or []
                table.append((number, cells(line)))
            elif item:
                paragraph = (number, item.group(1))
            elif line.strip() and not line.startswith("<"):
                paragraph = (paragraph[0], paragraph[1] + " " + line.strip()) if paragraph else (number, line.strip())
        if block is not None:
            raise ValueError(f"{self.path}:{block.line}: this block does not end")
        if paragraph:
            self.prose.append(paragraph)
        if table:
            self.tables.append(table)

    def _anchor(self, heading):
        """As mdBook and GitHub make it."""
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = "".join(letter for letter in heading
                       if letter in " -_" or unicodedata.category(letter)[0] in "LN")
        base = anchor = kept.replace(" ", "-")
        number = 1
        while anchor in self.anchors:
            anchor = f"{base}-{number}"
            number += 1
        self.anchors.add(anchor)

    def output_of(self, block):
        """The `text` block that follows it with nothing but blank lines between; None if there is none."""
        position = self.blocks.index(block) + 1
        if position < len(self.blocks):
            following = self.blocks[position]
            between = self.lines[block.end:following.line - 1]
            if following.language == "text" and not any(line.strip() for line in between):
                return following
        return None


def cells(row):
    """The cells of a table's row; a bar after a backslash is text."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def words(text):
    """How many words a reader reads: code counts as one, a link as its text, a sign as none."""
    text = re.sub(r"``[^`]+``|`[^`]+`", "`code`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return sum(bool(WORD.search(word)) for word in text.split())


def sentences(text):
    """The sentences of a paragraph."""
    text = re.sub(r"``[^`]+``|`[^`]+`", "`code`", text)
    text = re.sub(r"\b(e\.g|i\.e|etc|cf|vs|No)\.", r"\1", text)
    return [sentence for sentence in SENTENCE_END.split(text) if sentence.strip()]


def long_sentences(page, words_max):
    """(line of the paragraph, how many words, how the sentence begins) of every sentence that is too long."""
    for line, text in page.prose:
        for sentence in sentences(text):
            count = words(sentence)
            if count > words_max:
                yield line, count, " ".join(sentence.split()[:8])
