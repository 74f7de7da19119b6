//! Pieces of a statement's text put in the place of others, by where the parser found them.
//!
//! Used on texts that are kept (views): what comes out is parsed and resolved again by whoever asked, and
//! thrown away if it does not mean the same.

use super::grammar::{Lines, is_reserved};
use super::tokens_with_text;
use crate::ownership::quote_identifier;
use sqlparser::tokenizer::{Span, Token};
use std::collections::BTreeMap;

/// What to put in the place of the text between two locations.
pub(crate) struct Edit {
    /// The place.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// What stands at a place.
pub(crate) fn written<'a>(text: &'a str, span: &Span) -> &'a str {
    Lines::new(text).slice(span.start, span.end)
}

/// The text after all edits; of several that begin at one place the first counts.
pub(crate) fn splice(text: &str, edits: impl IntoIterator<Item = Edit>) -> String {
    let lines = Lines::new(text);
    let mut by_start: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for edit in edits {
        let (start, end) = (lines.byte_offset(edit.span.start), lines.byte_offset(edit.span.end));
        by_start.entry(start).or_insert((end, edit.text));
    }
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (start, (end, new)) in by_start {
        if start < done || end < start {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(&new);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

/// A plain SELECT with its outputs under these names, by an alias where they have not got them as they are: `None`
/// where the text has not that form.
pub(crate) fn name_items(text: &str, names: &[String]) -> Option<String> {
    let tokens = tokens_with_text(text);
    let mut items = Items { out: String::with_capacity(text.len()), names, next: 0 };
    let mut depth = 0_usize;
    let mut item: Vec<(&Token, &str)> = Vec::new();
    let mut ended = false;
    let mut begun = false;
    for (token, piece) in &tokens {
        if !begun {
            begun = is_word(token, "SELECT");
            if !begun && !matches!(token, Token::Whitespace(_)) {
                return None;
            }
            items.out.push_str(piece);
            continue;
        }
        if ended {
            items.out.push_str(piece);
            continue;
        }
        match token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            Token::Comma if depth == 0 => {
                items.push(&item)?;
                items.out.push_str(piece);
                item.clear();
                continue;
            }
            token if depth == 0 && ends_list(token) && !after_distinct(&item) => {
                items.push(&item)?;
                item.clear();
                ended = true;
                items.out.push_str(piece);
                continue;
            }
            _ => {}
        }
        item.push((token, piece));
    }
    if !ended {
        items.push(&item)?;
    }
    Some(items.out)
}

struct Items<'a> {
    out: String,
    names: &'a [String],
    next: usize,
}

impl Items<'_> {
    /// Adds one item under its name, an alias that it has replaced.
    fn push(&mut self, item: &[(&Token, &str)]) -> Option<()> {
        let end = item.iter().rposition(|(token, _)| !is_blank(token))? + 1;
        let (written, blanks) = item.split_at(end);
        let visible: Vec<usize> = (0..written.len()).filter(|&at| !is_blank(written[at].0)).collect();
        let name = self.names.get(self.next)?;
        self.next += 1;
        if names_itself(written, name) {
            item.iter().for_each(|(_, piece)| self.out.push_str(piece));
            return Some(());
        }
        let aliased = visible.len() > 2 && is_word(written[visible[visible.len() - 2]].0, "AS");
        let kept = if aliased { visible[visible.len() - 3] + 1 } else { written.len() };
        written[..kept].iter().for_each(|(_, piece)| self.out.push_str(piece));
        self.out.push_str(" AS ");
        self.out.push_str(&quote_identifier(name));
        blanks.iter().for_each(|(_, piece)| self.out.push_str(piece));
        Some(())
    }
}

/// Whether an item is a column that has the name already: `a`, `t.a`, and nothing else.
fn names_itself(written: &[(&Token, &str)], name: &str) -> bool {
    let visible = written.iter().filter(|(token, _)| !is_blank(token)).enumerate();
    let mut last = None;
    for (place, (token, _)) in visible {
        match token {
            Token::Word(word) if place % 2 == 0 => last = Some(word),
            Token::Period if place % 2 == 1 => last = None,
            _ => return false,
        }
    }
    last.is_some_and(|word| match word.quote_style {
        Some(_) => word.value == name,
        None => word.value.to_lowercase() == name && !is_reserved(&word.value),
    })
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_) | Token::EOF)
}

fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

fn ends_list(token: &Token) -> bool {
    const CLAUSES: [&str; 13] = [
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "WINDOW",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "FETCH",
        "FOR",
    ];
    CLAUSES.iter().any(|clause| is_word(token, clause))
}

/// Whether the FROM that follows belongs to `IS [NOT] DISTINCT FROM`.
fn after_distinct(item: &[(&Token, &str)]) -> bool {
    item.iter().rev().find(|(token, _)| !is_blank(token)).is_some_and(|(token, _)| is_word(token, "DISTINCT"))
}

#[cfg(test)]
mod tests {
    use super::name_items;

    #[test]
    fn items_are_named() {
        let names = ["x".to_string(), "Y".to_string()];
        for (text, expected) in [
            ("SELECT a, b FROM t", Some("SELECT a AS x, b AS \"Y\" FROM t")),
            ("select a as q, f(b, c) AS r", Some("select a AS x, f(b, c) AS \"Y\"")),
            ("SELECT a IS DISTINCT FROM b, 2 FROM t", Some("SELECT a IS DISTINCT FROM b AS x, 2 AS \"Y\" FROM t")),
            ("SELECT t.x, \"Y\" FROM t", Some("SELECT t.x, \"Y\" FROM t")),
            ("SELECT DISTINCT x, b::y FROM t", Some("SELECT DISTINCT x AS x, b::y AS \"Y\" FROM t")),
            ("SELECT a, b, c FROM t", None),
            ("VALUES (1, 2)", None),
        ] {
            assert_eq!(name_items(text, &names).as_deref(), expected);
        }
    }
}
