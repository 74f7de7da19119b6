//! `EXCLUDE` in a window's frame, which sqlparser does not read.
//!
//! Done on tokens: what is excluded goes in front of the name of the window that is refined, whether one was written or not.
//! ```text
//! (w ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES)   ─▶   ("\0TIES\0w" ORDER BY a ROWS 1 PRECEDING)
//! ```
//! `of` is the other half. No name that is written has such a character.

use super::grammar::is_word;
use super::{is_blank, next_visible};
use crate::scalar::FrameExclusion;
use repr::poll;
use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

const MARK: char = '\0';
/// Each exclusion's words, and what it is.
const EXCLUSIONS: [(&[&str], FrameExclusion); 4] = [
    (&["CURRENT", "ROW"], FrameExclusion::CurrentRow),
    (&["GROUP"], FrameExclusion::Group),
    (&["TIES"], FrameExclusion::Ties),
    (&["NO", "OTHERS"], FrameExclusion::NoOthers),
];

/// What a window's frame excludes, and the window that it refines.
pub(crate) fn of(name: Option<&Ident>) -> (FrameExclusion, Option<Ident>) {
    let Some(ident) = name else { return (FrameExclusion::NoOthers, None) };
    let Some((words, refined)) = parts(ident) else { return (FrameExclusion::NoOthers, Some(ident.clone())) };
    let found = EXCLUSIONS.iter().find(|(written, _)| written.join(" ") == words);
    let exclusion = found.map_or(FrameExclusion::NoOthers, |(_, exclusion)| *exclusion);
    let quoted = refined.strip_prefix('"');
    let value = quoted.unwrap_or(refined).to_owned();
    let refined = Ident { value, quote_style: quoted.map(|_| '"'), span: ident.span };
    (exclusion, Some(refined).filter(|ident| !ident.value.is_empty()))
}

/// The name of a window that excludes as this one does, and refines none.
pub(crate) fn without_refined(name: Option<&Ident>) -> Option<Ident> {
    let ident = name?;
    let (words, _) = parts(ident)?;
    Some(Ident { value: format!("{MARK}{words}{MARK}"), ..ident.clone() })
}

/// The words, and the name behind them.
fn parts(ident: &Ident) -> Option<(&str, &str)> {
    ident.value.strip_prefix(MARK)?.split_once(MARK)
}

/// The tokens with all such clauses in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        if is_word(&tokens[at], "EXCLUDE")
            && let Some(clause) = clause(&tokens, at)
        {
            tokens.drain(at..clause.end);
            name_the_window(&mut tokens, clause.open, clause.words);
        }
        at += 1;
    }
    tokens
}

/// An EXCLUDE behind a frame.
struct Clause {
    words: &'static [&'static str],
    /// The token behind it.
    end: usize,
    /// Where the window's parenthesis opens.
    open: usize,
}

fn clause(tokens: &[TokenWithSpan], at: usize) -> Option<Clause> {
    let before = tokens[..at].iter().rev().find(|token| !is_blank(token))?;
    if !["ROW", "PRECEDING", "FOLLOWING"].iter().any(|word| is_word(before, word)) {
        return None;
    }
    let following: Vec<usize> = (at + 1..tokens.len()).filter(|&place| !is_blank(&tokens[place])).take(3).collect();
    let (words, _) = EXCLUSIONS.into_iter().find(|(words, _)| {
        following.get(words.len()).is_some_and(|&place| tokens[place].token == Token::RParen)
            && words.iter().zip(&following).all(|(word, &place)| is_word(&tokens[place], word))
    })?;
    let mut depth = 0_usize;
    let open = (0..at).rev().find(|&place| {
        poll::step_or_unwind();
        match tokens[place].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return true,
            Token::LParen => depth -= 1,
            _ => {}
        }
        false
    })?;
    Some(Clause { words, end: following[words.len() - 1] + 1, open })
}

/// Puts the words before the name that stands behind the parenthesis, or where it would stand.
fn name_the_window(tokens: &mut Vec<TokenWithSpan>, open: usize, words: &[&str]) {
    let named = |refined: &str| {
        let value = format!("{MARK}{}{MARK}{refined}", words.join(" "));
        Token::make_word(&value, Some('"'))
    };
    let first = next_visible(tokens, open);
    if let Some(place) = first
        && let Token::Word(word) = &tokens[place].token
        && word.keyword == Keyword::NoKeyword
    {
        let quote = if word.quote_style.is_some() { "\"" } else { "" };
        tokens[place].token = named(&format!("{quote}{}", word.value));
        return;
    }
    let span = tokens[open].span;
    tokens.insert(open + 1, TokenWithSpan { token: named(""), span });
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn exclusions_are_names() {
        for (written, read) in [
            (
                "SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
                "SELECT sum(a) OVER (\"\0TIES\0\" ORDER BY a ROWS 1 PRECEDING) FROM t",
            ),
            (
                "SELECT sum(a) OVER (w ROWS BETWEEN f(1) PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM t WINDOW w AS (ORDER BY a)",
                "SELECT sum(a) OVER (\"\0CURRENT ROW\0w\" ROWS BETWEEN f(1) PRECEDING AND CURRENT ROW) FROM t WINDOW w AS (ORDER BY a)",
            ),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
        for written in [
            "SELECT sum(a) OVER (ORDER BY a EXCLUDE TIES) FROM t",
            "SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE) FROM t",
            "SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE ROW) FROM t",
        ] {
            assert_eq!(parse_query(written).unwrap_err().code, "42601", "{written}");
        }
    }
}
