//! Names that are cut: PostgreSQL says so of each, before it does anything with them.

use super::dialect;
use super::grammar::{NAME_BYTES_MAX, truncate};
use sqlparser::tokenizer::Token;

/// What is said of each name of a query string that is longer than names are, in their order.
pub fn cut_names(sql: &str) -> Vec<String> {
    if !may_have(sql.as_bytes()) {
        return Vec::new();
    }
    let tokens = dialect::tokenize(sql).unwrap_or_default();
    let name = |token: &Token| match token {
        Token::Word(word) if word.value.len() > NAME_BYTES_MAX => Some(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        }),
        _ => None,
    };
    let names = tokens.iter().filter_map(|token| name(&token.token));
    names.map(|name| format!("identifier \"{name}\" will be truncated to \"{}\"", truncate(&name))).collect()
}

/// Whether so many bytes stand together outside a string: one look at each byte, before every parsing.
fn may_have(sql: &[u8]) -> bool {
    let (mut quote, mut length) = (None, 0);
    for &byte in sql {
        let inside = match (quote, byte) {
            (Some(b'"'), b'"') | (Some(b'\''), b'\'') => {
                quote = None;
                false
            }
            (Some(b'"'), _) => true,
            (Some(_), _) => false,
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                false
            }
            (None, byte) => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..),
        };
        length = if inside { length + 1 } else { 0 };
        if length > NAME_BYTES_MAX {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_told_and_long_strings_are_not() {
        let long = "N".repeat(70);
        let cut = |name: &str| format!("identifier \"{name}\" will be truncated to \"{}\"", &name[..63]);
        let said = [cut(&"n".repeat(70)), cut(&long)];
        assert_eq!(cut_names(&format!("SELECT {long}, '{long}', \"{long}\" FROM t -- {long}")), said);
        assert_eq!(cut_names(&format!("SELECT '{long}', 1 AS \"{}\"", &long[..63])), [] as [String; 0]);
        assert_eq!(cut_names(&format!("SELECT {}", "é".repeat(32))).len(), 1);
    }
}
