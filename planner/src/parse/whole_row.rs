//! `table.*` as an operand (`b.* IS NULL`, `b.* = c.*`): read as `(table.*)`, the whole row.
//!
//! Done on tokens, before the parser sees them: at the beginning of a select list's item sqlparser takes the star for all
//! columns, and then does not go on. The parentheses stand where what they enclose begins and ends, so that positions and
//! kept texts stay as they are.

use super::is_blank;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The tokens with all such operands in parentheses.
pub(super) fn in_parentheses(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let places: Vec<(usize, usize)> = (0..tokens.len()).filter_map(|star| operand(&tokens, star)).collect();
    if places.is_empty() {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 2 * places.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        if places.iter().any(|(first, _)| *first == at) {
            let span = Span { end: span.start, ..span };
            written.push(TokenWithSpan { token: Token::LParen, span });
        }
        written.push(token);
        if places.iter().any(|(_, star)| *star == at) {
            let span = Span { start: span.end, ..span };
            written.push(TokenWithSpan { token: Token::RParen, span });
        }
    }
    written
}

/// Where the name before a star begins, and the star, if an operator follows.
fn operand(tokens: &[TokenWithSpan], star: usize) -> Option<(usize, usize)> {
    if tokens[star].token != Token::Mul || star < 2 || tokens[star - 1].token != Token::Period {
        return None;
    }
    let mut first = star;
    while first >= 2 && tokens[first - 1].token == Token::Period && matches!(tokens[first - 2].token, Token::Word(_)) {
        first -= 2;
    }
    let next = tokens[star + 1..].iter().find(|token| !is_blank(token))?;
    let operates = match &next.token {
        Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq | Token::DoubleColon => true,
        Token::Word(word) => {
            word.quote_style.is_none() && matches!(word.keyword, Keyword::IS | Keyword::IN | Keyword::NOT)
        }
        _ => false,
    };
    (operates && first < star).then_some((first, star))
}
