"""Makes a statement smaller that still does what a test asks: what is in parentheses, and CASE … END, is a node of a tree whose parts go
or become NULL, the large ones first.
"""
import re

TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|::|[<>=!~@#%^&|?*+/-]+|\S""")


def tree(tokens):
    """Nested lists: a node for what stands between parentheses, or between CASE and END, which are its first and its last part."""
    root, open_nodes = [], []
    node = root
    for token in tokens:
        word = token.lower()
        if word in ("(", "case", "["):
            child = [token]
            node.append(child)
            open_nodes.append(node)
            node = child
        else:
            node.append(token)
            if word in (")", "end", "]") and open_nodes:
                node = open_nodes.pop()
    return root


def text(node):
    return " ".join(part if isinstance(part, str) else text(part) for part in node)


def smaller(statement, still, tries_max=3000):
    """The smallest found for which `still(statement)` holds."""
    root = tree(TOKEN.findall(statement))
    tries = 0

    def holds():
        nonlocal tries
        tries += 1
        return tries <= tries_max and still(text(root))

    if not holds():
        return statement
    changed = True
    while changed and tries < tries_max:
        changed, queue = False, [root]
        while queue:
            node = queue.pop(0)
            changed |= parts_gone(node, holds) | parts_replaced(node, holds)
            queue += [part for part in node if isinstance(part, list)]
    return text(root)


def parts_gone(node, holds):
    """Takes runs of parts out of a node, halves first."""
    changed, size = False, max(1, len(node) // 2)
    while size:
        at = 0
        while at < len(node):
            taken = node[at:at + size]
            del node[at:at + size]
            if node and holds():
                changed = True
            else:
                node[at:at] = taken
                at += size
        size //= 2
    return changed


def parts_replaced(node, holds):
    """Puts NULL, or one of its own nodes, where a node stands."""
    changed = False
    for at, part in enumerate(node):
        if isinstance(part, list):
            for other in ["null", *[inner for inner in part if isinstance(inner, list)]]:
                node[at] = other
                if holds():
                    changed = True
                    break
                node[at] = part
    return changed
