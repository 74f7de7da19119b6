//! `JOIN … USING (a, b) AS x`: the name of the columns that are joined by, which sqlparser does not read.
//!
//! Done on tokens: the name becomes the first of the columns, marked. `of` is the other half.
//! ```text
//! USING (a, b) AS x   ─▶   USING ("\0x", a, b)
//! ```

use super::grammar::is_word;
use super::next_visible;
use repr::poll;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

const MARK: char = '\0';

/// The name, folded, and the columns.
pub(crate) fn of(columns: &[ObjectName]) -> (Option<&str>, &[ObjectName]) {
    if let [ObjectName(parts), rest @ ..] = columns
        && let [ObjectNamePart::Identifier(Ident { value, .. })] = parts.as_slice()
        && let Some(name) = value.strip_prefix(MARK)
    {
        return (Some(name), rest);
    }
    (None, columns)
}

/// The tokens with all such names in the form above.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        poll::step_or_unwind();
        if is_word(&tokens[at], "USING")
            && let Some((open, close, name)) = named(&tokens, at)
        {
            let value = match &tokens[name].token {
                Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
                Token::Word(word) => word.value.to_lowercase(),
                _ => String::new(),
            };
            let word = Token::make_word(&format!("{MARK}{value}"), Some('"'));
            let end = tokens[name].span.end;
            // A query's text is cut out by where its last token ends.
            tokens[close].span.end = end;
            let span = tokens[open].span;
            tokens.drain(close + 1..=name);
            tokens.insert(open + 1, TokenWithSpan { token: Token::Comma, span });
            tokens.insert(open + 1, TokenWithSpan { token: word, span });
        }
        at += 1;
    }
    tokens
}

/// Of `USING (columns) AS name`: the parentheses and the name.
fn named(tokens: &[TokenWithSpan], using: usize) -> Option<(usize, usize, usize)> {
    let next = |at| next_visible(tokens, at);
    let open = next(using).filter(|&place| tokens[place].token == Token::LParen)?;
    let mut close = open;
    loop {
        close = next(close)?;
        match &tokens[close].token {
            Token::RParen => break,
            Token::Comma => {}
            Token::Word(word) if !matches!(word.keyword, Keyword::SELECT | Keyword::VALUES) => {}
            _ => return None,
        }
    }
    let written_as = next(close).filter(|&place| is_word(&tokens[place], "AS"))?;
    let name = next(written_as).filter(|&place| matches!(tokens[place].token, Token::Word(_)))?;
    Some((open, close, name))
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_query;

    #[test]
    fn a_name_is_the_first_column() {
        for (written, read) in [
            ("SELECT x.a FROM t JOIN u USING (a, b) AS x", "SELECT x.a FROM t JOIN u USING(\"\0x\", a, b)"),
            (
                "SELECT 1 FROM t JOIN u USING (a) AS \"X\" JOIN v USING (b)",
                "SELECT 1 FROM t JOIN u USING(\"\0X\", a) JOIN v USING(b)",
            ),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
    }
}
