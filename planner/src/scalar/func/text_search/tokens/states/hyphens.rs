//! Words with hyphens, as a whole and then part by part.

use super::super::TokenKind as K;
use super::State as S;
use super::Test::{Alnum, Any, AsciiLetter, Digit, End, Is, Letter, Special};
use super::{Beside, Rule, again, attempt, fail, forget, found, found_after_all, found_surely, next, stay, with};

pub(super) const RULES: &[(S, &[Rule])] = &[
    (
        S::AsciiHyphen,
        &[
            fail(End),
            next(AsciiLetter, S::AsciiHyphenated),
            next(Letter, S::Hyphenated),
            next(Digit, S::DigitsAhead),
            fail(Any),
        ],
    ),
    (
        S::AsciiHyphenated,
        &[
            with(Beside::Back, found_surely(End, K::AsciiHyphenated, S::Parts)),
            next(AsciiLetter, S::AsciiHyphenated),
            next(Letter, S::Hyphenated),
            next(Special, S::Hyphenated),
            next(Digit, S::NumHyphenated),
            attempt(Is(b'-'), S::AsciiHyphen),
            with(Beside::Back, found_surely(Any, K::AsciiHyphenated, S::Parts)),
        ],
    ),
    (S::WordHyphen, &[fail(End), next(Letter, S::Hyphenated), next(Digit, S::DigitsAhead), fail(Any)]),
    (
        S::Hyphenated,
        &[
            with(Beside::Back, found_surely(End, K::Hyphenated, S::Parts)),
            next(Letter, S::Hyphenated),
            next(Special, S::Hyphenated),
            next(Digit, S::NumHyphenated),
            attempt(Is(b'-'), S::WordHyphen),
            with(Beside::Back, found_surely(Any, K::Hyphenated, S::Parts)),
        ],
    ),
    (S::NumHyphen, &[fail(End), next(Letter, S::NumHyphenated), next(Digit, S::DigitsAhead), fail(Any)]),
    (
        S::NumHyphenated,
        &[
            with(Beside::Back, found_surely(End, K::NumHyphenated, S::Parts)),
            next(Alnum, S::NumHyphenated),
            next(Special, S::NumHyphenated),
            attempt(Is(b'-'), S::NumHyphen),
            with(Beside::Back, found_surely(Any, K::NumHyphenated, S::Parts)),
        ],
    ),
    (
        S::DigitsAhead,
        &[
            fail(End),
            next(Digit, S::DigitsAhead),
            next(Letter, S::NumHyphenated),
            next(Special, S::NumHyphenated),
            fail(Any),
        ],
    ),
    (
        S::Parts,
        &[
            again(End, S::Base),
            next(AsciiLetter, S::AsciiPart),
            next(Letter, S::WordPart),
            attempt(Digit, S::DigitsPart),
            attempt(Is(b'-'), S::PartsHyphen),
            again(Any, S::Base),
        ],
    ),
    (
        S::PartsHyphen,
        &[
            fail(End),
            found_after_all(Alnum, K::Blank, S::Parts),
            found_after_all(Special, K::Blank, S::Parts),
            fail(Any),
        ],
    ),
    (
        S::WordPart,
        &[
            found(End, K::WordPart, S::Base),
            next(Letter, S::WordPart),
            next(Special, S::WordPart),
            next(Digit, S::NumPart),
            found(Any, K::WordPart, S::Parts),
        ],
    ),
    (
        S::AsciiPart,
        &[
            found(End, K::AsciiPart, S::Base),
            next(AsciiLetter, S::AsciiPart),
            next(Letter, S::WordPart),
            next(Special, S::WordPart),
            next(Digit, S::NumPart),
            found(Any, K::AsciiPart, S::Parts),
        ],
    ),
    (
        S::NumPart,
        &[
            found(End, K::NumPart, S::Base),
            next(Alnum, S::NumPart),
            next(Special, S::NumPart),
            found(Any, K::NumPart, S::Parts),
        ],
    ),
    (S::DigitsPart, &[fail(End), stay(Digit), forget(Letter, S::NumPart), forget(Special, S::NumPart), fail(Any)]),
];
