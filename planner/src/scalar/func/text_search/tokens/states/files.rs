//! Paths of files.

use super::super::TokenKind as K;
use super::State as S;
use super::Test::{Any, AsciiLetter, Digit, End, Is, Space};
use super::{Rule, attempt, fail, forget, found, found_after_all, next};

pub(super) const RULES: &[(S, &[Rule])] = &[
    (
        S::FileFirst,
        &[
            fail(End),
            next(AsciiLetter, S::File),
            next(Digit, S::File),
            next(Is(b'.'), S::PathDotInside),
            next(Is(b'_'), S::File),
            attempt(Is(b'~'), S::FileTilde),
            fail(Any),
        ],
    ),
    (
        S::FileTilde,
        &[
            fail(End),
            next(AsciiLetter, S::File),
            next(Digit, S::File),
            next(Is(b'_'), S::File),
            next(Is(b'/'), S::FileFirst),
            fail(Any),
        ],
    ),
    (
        S::PathDotInside,
        &[
            fail(End),
            next(AsciiLetter, S::File),
            next(Digit, S::File),
            next(Is(b'_'), S::File),
            next(Is(b'.'), S::PathDots),
            next(Is(b'/'), S::FileFirst),
            fail(Any),
        ],
    ),
    (S::PathDot, &[fail(End), next(Is(b'.'), S::PathDots), next(Is(b'/'), S::FileFirst), fail(Any)]),
    (
        S::PathDots,
        &[
            found_after_all(End, K::File, S::Base),
            attempt(Is(b'/'), S::FileFirst),
            found_after_all(Is(b'/'), K::File, S::Base),
            found_after_all(Space, K::File, S::Base),
            fail(Any),
        ],
    ),
    (
        S::File,
        &[
            found(End, K::File, S::Base),
            next(AsciiLetter, S::File),
            next(Digit, S::File),
            attempt(Is(b'.'), S::FileDot),
            next(Is(b'_'), S::File),
            next(Is(b'-'), S::File),
            attempt(Is(b'/'), S::FileFirst),
            found(Any, K::File, S::Base),
        ],
    ),
    (
        S::FileDot,
        &[fail(End), forget(AsciiLetter, S::File), forget(Digit, S::File), forget(Is(b'_'), S::File), fail(Any)],
    ),
];
