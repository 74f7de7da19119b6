//! Where in the statement's text something stands, as PostgreSQL counts: characters from 1.

use sqlparser::tokenizer::Span;

/// The line starts of one statement's text.
pub(super) struct Positions<'a> {
    text: &'a str,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Positions { text }
    }

    /// The 1-based character position where `span` starts; none for spans that the parser left empty.
    /// Only errors ask, so nothing is precomputed.
    pub(super) fn of(&self, span: Span) -> Option<u32> {
        let (line, column) = (span.start.line, span.start.column);
        if line == 0 || column == 0 || self.text.is_empty() {
            return None;
        }
        let before: usize = self
            .text
            .split_inclusive('\n')
            .take(usize::try_from(line - 1).ok()?)
            .map(|part| part.chars().count())
            .sum();
        u32::try_from(before as u64 + column).ok()
    }
}
