//! Words, and what is between them.

use super::super::TokenKind as K;
use super::State as S;
use super::Test::{Alnum, Any, AsciiLetter, Digit, End, Ignored, Is, Letter, NotAlnum, Special};
use super::{Rule, attempt, found, next, stay};

pub(super) const RULES: &[(S, &[Rule])] = &[
    (
        S::Base,
        &[
            stay(End),
            attempt(Is(b'<'), S::TagFirst),
            next(Ignored, S::Blank),
            next(AsciiLetter, S::AsciiWord),
            next(Letter, S::Word),
            next(Digit, S::UnsignedInt),
            attempt(Is(b'-'), S::SignedIntFirst),
            attempt(Is(b'+'), S::SignedIntFirst),
            attempt(Is(b'&'), S::EntityFirst),
            attempt(Is(b'~'), S::FileTilde),
            attempt(Is(b'/'), S::FileFirst),
            attempt(Is(b'.'), S::PathDot),
            next(Any, S::Blank),
        ],
    ),
    (
        S::NumWord,
        &[
            found(End, K::NumWord, S::Base),
            next(Alnum, S::NumWord),
            next(Special, S::NumWord),
            attempt(Is(b'@'), S::Email),
            attempt(Is(b'/'), S::FileFirst),
            attempt(Is(b'.'), S::FileDot),
            attempt(Is(b'-'), S::NumHyphen),
            found(Any, K::NumWord, S::Base),
        ],
    ),
    (
        S::AsciiWord,
        &[
            found(End, K::AsciiWord, S::Base),
            stay(AsciiLetter),
            attempt(Is(b'.'), S::DomainFirst),
            attempt(Is(b'.'), S::FileDot),
            attempt(Is(b'-'), S::HostFirst),
            attempt(Is(b'-'), S::AsciiHyphen),
            attempt(Is(b'_'), S::HostFirst),
            attempt(Is(b'@'), S::Email),
            attempt(Is(b':'), S::ProtocolFirst),
            attempt(Is(b'/'), S::FileFirst),
            attempt(Digit, S::Host),
            next(Digit, S::NumWord),
            next(Letter, S::Word),
            next(Special, S::Word),
            found(Any, K::AsciiWord, S::Base),
        ],
    ),
    (
        S::Word,
        &[
            found(End, K::Word, S::Base),
            stay(Letter),
            stay(Special),
            next(Digit, S::NumWord),
            attempt(Is(b'-'), S::WordHyphen),
            found(Any, K::Word, S::Base),
        ],
    ),
    (
        S::Blank,
        &[
            found(End, K::Blank, S::Base),
            found(Is(b'<'), K::Blank, S::Base),
            stay(Ignored),
            found(Is(b'-'), K::Blank, S::Base),
            found(Is(b'+'), K::Blank, S::Base),
            found(Is(b'&'), K::Blank, S::Base),
            found(Is(b'/'), K::Blank, S::Base),
            next(NotAlnum, S::Blank),
            found(Any, K::Blank, S::Base),
        ],
    ),
];
