//! Text that ignores case: the form by which it is compared.
//!
//! A value keeps the text as it was written; equality, order and keys are those of its folded form. Characters are folded one by one,
//! as PostgreSQL's citext does, so that the form of a beginning is the beginning of the form.

use std::borrow::Cow;
use std::cmp::Ordering;

/// The text in lower case.
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
}

/// The order of two texts' folded forms: that of their code points, which is that of their bytes.
pub(crate) fn folded_cmp(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        let (one, other) = (one.bytes(), other.bytes());
        return one.map(|byte| byte.to_ascii_lowercase()).cmp(other.map(|byte| byte.to_ascii_lowercase()));
    }
    one.chars().flat_map(char::to_lowercase).cmp(other.chars().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::{folded, folded_cmp};
    use std::cmp::Ordering;

    #[test]
    fn case_does_not_count() {
        for (one, other) in [("", ""), ("Ab", "aB"), ("ÄÖ", "äö"), ("a\u{130}", "ai\u{307}"), ("ΣΑΣ", "σασ")]
        {
            assert_eq!(folded(one), folded(other));
            assert_eq!(folded_cmp(one, other), Ordering::Equal);
        }
    }

    #[test]
    fn the_order_is_that_of_the_folded_forms() {
        let texts = ["", "A", "a", "AB", "b", "Z", "_", "[", "ä", "Ä", "é", "ß", "日"];
        for one in texts {
            for other in texts {
                assert_eq!(folded_cmp(one, other), folded(one).as_bytes().cmp(folded(other).as_bytes()));
            }
        }
    }
}
