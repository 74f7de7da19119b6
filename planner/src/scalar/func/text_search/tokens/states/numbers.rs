//! Numbers and versions.

use super::super::TokenKind as K;
use super::State as S;
use super::Test::{Any, AsciiLetter, Digit, End, Is, Letter, Special};
use super::{Beside, Rule, again, attempt, fail, forget, found, found_surely, next, stay, with};

pub(super) const RULES: &[(S, &[Rule])] = &[
    (
        S::UnsignedInt,
        &[
            found(End, K::UnsignedInt, S::Base),
            stay(Digit),
            attempt(Is(b'.'), S::DomainFirst),
            attempt(Is(b'.'), S::UnsignedDecimalFirst),
            attempt(Is(b'e'), S::ExponentFirst),
            attempt(Is(b'E'), S::ExponentFirst),
            attempt(Is(b'-'), S::HostFirst),
            attempt(Is(b'_'), S::HostFirst),
            attempt(Is(b'@'), S::Email),
            attempt(AsciiLetter, S::Host),
            next(Letter, S::NumWord),
            next(Special, S::NumWord),
            attempt(Is(b'/'), S::FileFirst),
            found(Any, K::UnsignedInt, S::Base),
        ],
    ),
    (S::SignedIntFirst, &[fail(End), forget(Digit, S::SignedInt), fail(Any)]),
    (
        S::SignedInt,
        &[
            found(End, K::SignedInt, S::Base),
            stay(Digit),
            attempt(Is(b'.'), S::DecimalFirst),
            attempt(Is(b'e'), S::ExponentFirst),
            attempt(Is(b'E'), S::ExponentFirst),
            found(Any, K::SignedInt, S::Base),
        ],
    ),
    (S::UnsignedDecimalFirst, &[fail(End), forget(Digit, S::UnsignedDecimal), fail(Any)]),
    (
        S::UnsignedDecimal,
        &[
            found(End, K::Float, S::Base),
            next(Digit, S::UnsignedDecimal),
            attempt(Is(b'.'), S::VersionFirst),
            attempt(Is(b'e'), S::ExponentFirst),
            attempt(Is(b'E'), S::ExponentFirst),
            found(Any, K::Float, S::Base),
        ],
    ),
    (S::DecimalFirst, &[fail(End), forget(Digit, S::Decimal), fail(Any)]),
    (
        S::Decimal,
        &[
            found(End, K::Float, S::Base),
            next(Digit, S::Decimal),
            attempt(Is(b'.'), S::SignedVersionFirst),
            attempt(Is(b'e'), S::ExponentFirst),
            attempt(Is(b'E'), S::ExponentFirst),
            found(Any, K::Float, S::Base),
        ],
    ),
    (S::SignedVersionFirst, &[fail(End), with(Beside::BackEmpty, again(Digit, S::SignedVersion)), fail(Any)]),
    (S::SignedVersion, &[fail(End), found_surely(Digit, K::Blank, S::UnsignedInt), stay(Any)]),
    (S::VersionFirst, &[fail(End), forget(Digit, S::Version), fail(Any)]),
    (
        S::Version,
        &[
            found(End, K::Version, S::Base),
            next(Digit, S::Version),
            attempt(Is(b'.'), S::VersionFirst),
            found(Any, K::Version, S::Base),
        ],
    ),
    (
        S::ExponentFirst,
        &[
            fail(End),
            forget(Digit, S::Exponent),
            next(Is(b'+'), S::ExponentSign),
            next(Is(b'-'), S::ExponentSign),
            fail(Any),
        ],
    ),
    (S::ExponentSign, &[fail(End), forget(Digit, S::Exponent), fail(Any)]),
    (S::Exponent, &[found(End, K::Scientific, S::Base), next(Digit, S::Exponent), found(Any, K::Scientific, S::Base)]),
];
