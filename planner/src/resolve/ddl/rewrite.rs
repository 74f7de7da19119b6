//! Column names inside expressions that are kept as text: which are used, and renaming them.
//!
//! Works on tokens: a word is a column's name unless what stands around it makes it something else.

use crate::catalog::Table;
use crate::parse::tokens_with_text;
use repr::ColumnIndex;
use sqlparser::tokenizer::{Token, Word};

/// The live columns that an expression over the table names, in order of position, each once.
pub(super) fn columns_used(text: &str, table: &Table) -> Vec<ColumnIndex> {
    let mut used = columns_named(text, table);
    used.sort_unstable();
    used
}

/// The same, in the order in which they are named.
pub(crate) fn columns_named(text: &str, table: &Table) -> Vec<ColumnIndex> {
    let tokens: Vec<Token> = tokens_with_text(text).into_iter().map(|(token, _)| token).collect();
    let named = (0..tokens.len())
        .filter(|&at| is_column_place(&tokens, at))
        .filter_map(|at| word(&tokens[at]))
        .filter_map(|word| table.column_by_name(&folded(word)).map(|(index, _)| index));
    let mut columns = Vec::new();
    for column in named {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// The expression with one column's name replaced.
pub(super) fn rename_column(text: &str, old: &str, new: &str) -> String {
    let (tokens, texts): (Vec<Token>, Vec<&str>) = tokens_with_text(text).into_iter().unzip();
    let quoted = format!("\"{}\"", new.replace('"', "\"\""));
    (0..tokens.len())
        .map(|at| match word(&tokens[at]) {
            Some(word) if folded(word) == old && is_column_place(&tokens, at) => quoted.clone(),
            Some(_) | None => texts[at].to_string(),
        })
        .collect()
}

fn word(token: &Token) -> Option<&Word> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn folded(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

/// Whether a word at this place may be a column: not a function, a type, a schema or a field's keyword.
fn is_column_place(tokens: &[Token], at: usize) -> bool {
    let visible = |token: &&Token| !matches!(token, Token::Whitespace(_));
    let before = tokens[..at].iter().rev().find(visible);
    let after = tokens[at + 1..].iter().find(visible);
    let is_word = |token: Option<&Token>, text: &str| {
        token.and_then(word).is_some_and(|word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
    };
    // What stands before a name with its qualifiers says whether it is a type's.
    let mut around = tokens[..at].iter().rev().filter(visible);
    let mut head = around.next();
    while head == Some(&Token::Period) {
        around.next();
        head = around.next();
    }
    let type_or_function = matches!(head, Some(Token::DoubleColon))
        || is_word(head, "AS")
        || is_word(before, "COLLATE")
        || matches!(after, Some(Token::LParen | Token::Period))
        || matches!(after, Some(Token::SingleQuotedString(_)));
    // `table.column` is a column; `schema.function(` was excluded above.
    let extract_field = is_word(after, "FROM")
        && tokens[..at]
            .iter()
            .rev()
            .filter(visible)
            .nth(1)
            .and_then(word)
            .is_some_and(|word| word.value.eq_ignore_ascii_case("extract"));
    !type_or_function && !extract_field
}

#[cfg(test)]
mod tests {
    use super::rename_column;

    #[test]
    fn renames_columns_and_nothing_else() {
        for (text, expected) in [
            ("price > 0", "\"cost\" > 0"),
            ("Price > 0 AND note <> 'price'", "\"cost\" > 0 AND note <> 'price'"),
            ("price(price) = x::price", "price(\"cost\") = x::price"),
            ("CAST(price AS price)", "CAST(\"cost\" AS price)"),
            ("CAST(price AS a.price) = x::a.price", "CAST(\"cost\" AS a.price) = x::a.price"),
            ("t.price <> E'a\\'b'", "t.\"cost\" <> E'a\\'b'"),
            ("extract(price FROM price)", "extract(price FROM \"cost\")"),
            ("\"Price\" = 1", "\"Price\" = 1"),
        ] {
            assert_eq!(rename_column(text, "price", "cost"), expected);
        }
    }
}
