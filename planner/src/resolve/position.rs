//! Where in the statement's text something stands, as PostgreSQL counts: characters from 1.

use sqlparser::tokenizer::Span;
use std::cell::OnceCell;

/// The line starts of one statement's text.
pub(super) struct Positions<'a> {
    text: &'a str,
    /// Characters before each line, counted when one but the first is asked for.
    starts: OnceCell<Vec<u32>>,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Positions { text, starts: OnceCell::new() }
    }

    /// Whether the text has a word in it, in small letters.
    pub(super) fn names(&self, word: &str) -> bool {
        let bytes = self.text.as_bytes();
        bytes.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// All that stands behind a span.
    pub(super) fn behind(&self, span: Span) -> &'a str {
        let own = self.text(span);
        let end = (own.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).wrapping_add(own.len());
        self.text.get(end..).unwrap_or("")
    }

    /// The text of a span.
    pub(super) fn text(&self, span: Span) -> &'a str {
        crate::parse::written(self.text, &span)
    }

    /// The 1-based character position where `span` starts; none for spans that the parser left empty.
    pub(super) fn of(&self, span: Span) -> Option<u32> {
        let (line, column) = (span.start.line, span.start.column);
        if line == 0 || column == 0 || self.text.is_empty() {
            return None;
        }
        let line = usize::try_from(line - 1).ok()?;
        let before = if line == 0 {
            0
        } else {
            let starts = self.starts.get_or_init(|| starts(self.text));
            starts.get(line).or(starts.last()).copied().unwrap_or(0)
        };
        u32::try_from(u64::from(before) + column).ok()
    }
}

fn starts(text: &str) -> Vec<u32> {
    let mut before = 0;
    let mut starts = vec![0];
    for line in text.split_inclusive('\n') {
        before += u32::try_from(line.chars().count()).unwrap_or(u32::MAX);
        starts.push(before);
    }
    starts
}
