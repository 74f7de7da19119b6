//! Which words of a text a headline shows: the best stretch, or the best fragments.

use super::options::Options;
use super::{Stretch, TokenKind, Word};
use repr::{TsQuery, ValueError, poll};

/// Marks the words that are shown.
pub(super) fn choose(words: &mut [Word<'_>], query: &TsQuery, options: &Options<'_>) -> Result<(), ValueError> {
    if options.fragments_max != 0 {
        return Fragments::chosen(words, query, options);
    }
    if options.highlights_all {
        mark(words, options, 0, words.len());
        return Ok(());
    }
    let mut best: Option<Headline> = None;
    let mut from = 0;
    while let Some((first, last)) = next_cover(words, query, options, from)? {
        let headline = Headline::around(words, options, first, last);
        if best.as_ref().is_none_or(|best| headline.is_better_than(best, words, options)) {
            best = Some(headline);
        }
        from = first + 1;
    }
    match best {
        // It may have been cut before its first word.
        Some(best) => mark(words, options, best.first, usize::try_from(best.last + 1).unwrap_or(0)),
        None => mark_beginning(words, options),
    }
    Ok(())
}

/// Shows words, up to the one before `end`.
fn mark(words: &mut [Word<'_>], options: &Options<'_>, first: usize, end: usize) {
    for word in words.iter_mut().take(end).skip(first) {
        word.shown.is_marked |= word.operand.is_some();
        if !options.highlights_all && word.kind == TokenKind::Tag {
            word.shown.is_replaced = true;
        } else if word.has_parts() {
            word.shown.is_skipped = true;
        }
        word.shown.is_in = !word.is_repeated;
    }
}

/// Where nothing is found, the text's first words are shown.
fn mark_beginning(words: &mut [Word<'_>], options: &Options<'_>) {
    let (mut count, mut end) = (0, 0);
    while end < words.len() && count < options.words_min {
        count += i32::from(!words[end].is_no_word());
        end += 1;
    }
    mark(words, options, 0, end);
}

/// The first and shortest stretch from a word on that answers the query: its first and last word.
fn next_cover(
    words: &[Word<'_>],
    query: &TsQuery,
    options: &Options<'_>,
    from: usize,
) -> Result<Option<(usize, usize)>, ValueError> {
    if query.is_empty() {
        return Ok(None);
    }
    let words_max = usize::try_from(options.cover_words_max()).unwrap_or(0);
    let next = |from: usize| (from..words.len()).find(|index| words[*index].operand.is_some());
    let mut first = next(from);
    while let Some(start) = first {
        let mut last = Some(start);
        while let Some(end) = last.filter(|end| *end == start || end - start < words_max) {
            poll::steps(1 + (end - start) / 16)?;
            if query.matches(&Stretch(&words[start..=end]))? {
                return Ok(Some((start, end)));
            }
            last = next(end + 1);
        }
        first = next(start + 1);
    }
    Ok(None)
}

/// A stretch of words that may be shown.
struct Headline {
    first: usize,
    /// Before the first, if nothing is left.
    last: isize,
    /// How many words in it are looked for.
    wanted: i32,
    /// Whether all is in it that answers the query.
    covers: bool,
}

impl Headline {
    /// Around a stretch that answers the query: longer or shorter, as the options say.
    fn around(words: &[Word<'_>], options: &Options<'_>, first: usize, last: usize) -> Headline {
        let (mut count, mut wanted, mut start, mut end) = (0, 0, first, first as isize);
        let mut at = first;
        while at <= last && count < options.words_max {
            count += i32::from(!words[at].is_no_word());
            wanted += i32::from(words[at].is_wanted());
            end = at as isize;
            at += 1;
        }
        if count < options.words_max {
            // Longer, from its last word on.
            at -= 1;
            while at < words.len() && count < options.words_max {
                if at > last {
                    count += i32::from(!words[at].is_no_word());
                    wanted += i32::from(words[at].is_wanted());
                }
                end = at as isize;
                if !words[at].is_bad_end(options.short_bytes_max) && count >= options.words_min {
                    break;
                }
                at += 1;
            }
            if count < options.words_min {
                start = Self::start_before(words, options, first, (&mut count, &mut wanted));
            }
        } else {
            // Shorter, if it ends badly.
            let mut at = at.min(last) as isize;
            while let Some(word) = usize::try_from(at).ok().map(|at| &words[at]).filter(|_| count > options.words_min) {
                if !word.is_bad_end(options.short_bytes_max) {
                    break;
                }
                count -= i32::from(!word.is_no_word());
                wanted -= i32::from(word.is_wanted());
                at -= 1;
                end = at;
            }
        }
        Headline { first: start, last: end, wanted, covers: start <= first && end >= last as isize }
    }

    /// To the left, where the text ended too soon.
    fn start_before(
        words: &[Word<'_>],
        options: &Options<'_>,
        first: usize,
        (count, wanted): (&mut i32, &mut i32),
    ) -> usize {
        for at in (0..first).rev() {
            *count += i32::from(!words[at].is_no_word());
            *wanted += i32::from(words[at].is_wanted());
            let is_bad = words[at].is_bad_end(options.short_bytes_max);
            if *count >= options.words_max || (!is_bad && *count >= options.words_min) {
                return at;
            }
        }
        0
    }

    fn is_better_than(&self, best: &Headline, words: &[Word<'_>], options: &Options<'_>) -> bool {
        if (self.covers, self.wanted) != (best.covers, best.wanted) {
            return (self.covers, self.wanted) > (best.covers, best.wanted);
        }
        let ends_badly = |headline: &Headline| {
            let last = usize::try_from(headline.last).ok().and_then(|last| words.get(last));
            last.is_none_or(|last| last.is_bad_end(options.short_bytes_max))
        };
        !ends_badly(self) && ends_badly(best)
    }
}

/// A part of a stretch that answers the query.
struct Fragment {
    first: usize,
    last: usize,
    words: i32,
    wanted: i32,
    /// It is shown, or overlaps what is.
    is_out: bool,
}

struct Fragments;

impl Fragments {
    fn chosen(words: &mut [Word<'_>], query: &TsQuery, options: &Options<'_>) -> Result<(), ValueError> {
        let mut fragments = Vec::new();
        let mut from = 0;
        while let Some((first, last)) = next_cover(words, query, options, from)? {
            let mut start = first;
            while start <= last {
                let fragment = Fragment::first_of(words, options, start, last);
                start = fragment.last + 1;
                fragments.push(fragment);
            }
            from = first + 1;
        }
        let mut count = 0;
        for _ in 0..options.fragments_max {
            poll::steps(1 + fragments.len() / 16)?;
            let Some(best) = Self::best(&fragments) else { break };
            let (first, last) = fragments[best].stretched(words, options);
            mark(words, options, first, last + 1);
            count += 1;
            for (index, fragment) in fragments.iter_mut().enumerate() {
                fragment.is_out |= index == best || (fragment.first <= last && fragment.last >= first);
            }
        }
        if count == 0 {
            mark_beginning(words, options);
        }
        Ok(())
    }

    /// The one with most that is looked for, of those the shortest, of those the first.
    fn best(fragments: &[Fragment]) -> Option<usize> {
        let mut best: Option<usize> = None;
        let (mut wanted, mut words) = (0, i32::MAX);
        for (index, fragment) in fragments.iter().enumerate().filter(|(_, fragment)| !fragment.is_out) {
            if wanted < fragment.wanted || (wanted == fragment.wanted && words > fragment.words) {
                (wanted, words, best) = (fragment.wanted, fragment.words, Some(index));
            }
        }
        best
    }
}

impl Fragment {
    /// From the first word that is looked for, as long as may be, to the last one that is.
    fn first_of(words: &[Word<'_>], options: &Options<'_>, start: usize, last: usize) -> Fragment {
        let first = (start..=last).find(|index| words[*index].is_wanted()).unwrap_or(last);
        let (mut count, mut wanted, mut at) = (0, 0, first);
        while at <= last && count < options.words_max {
            count += i32::from(!words[at].is_no_word());
            wanted += i32::from(words[at].is_wanted());
            at += 1;
        }
        let mut end = last;
        if last > at {
            end = at;
            for index in (first..=at).rev() {
                end = index;
                if words[index].is_wanted() {
                    break;
                }
                count -= i32::from(!words[index].is_no_word());
            }
        }
        Fragment { first, last: end, words: count, wanted, is_out: false }
    }

    /// Longer at both sides, if there is room, and not into what is shown: its first and last word.
    fn stretched(&self, words: &[Word<'_>], options: &Options<'_>) -> (usize, usize) {
        let mut count = self.words;
        if count >= options.words_max {
            return (self.first, self.last);
        }
        let stretch_max = (options.words_max - count) / 2;
        let (mut first, mut stretch) = (self.first, 0);
        while first > 0 && stretch < stretch_max && !words[first - 1].shown.is_in {
            first -= 1;
            let is_word = i32::from(!words[first].is_no_word());
            (count, stretch) = (count + is_word, stretch + is_word);
        }
        while first < self.first && words[first].is_bad_end(options.short_bytes_max) {
            count -= i32::from(!words[first].is_no_word());
            first += 1;
        }
        let mut last = self.last;
        while last + 1 < words.len() && count < options.words_max && !words[last + 1].shown.is_in {
            last += 1;
            count += i32::from(!words[last].is_no_word());
        }
        while last > self.last && words[last].is_bad_end(options.short_bytes_max) {
            last -= 1;
        }
        (first, last)
    }
}
