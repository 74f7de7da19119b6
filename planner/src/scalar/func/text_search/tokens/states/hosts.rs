//! Hosts, addresses and URLs.

use super::super::TokenKind as K;
use super::State as S;
use super::Test::{self, Any, AsciiLetter, Digit, End, Is, UrlCharacter};
use super::{Beside, Rule, attempt, fail, found, found_surely, next, with};

pub(super) const RULES: &[(S, &[Rule])] = &[
    (S::DomainFirst, &[fail(End), next(AsciiLetter, S::DomainSecond), next(Digit, S::Host), fail(Any)]),
    (
        S::DomainSecond,
        &[
            fail(End),
            next(AsciiLetter, S::Domain),
            attempt(Digit, S::Host),
            attempt(Is(b'-'), S::HostFirst),
            attempt(Is(b'_'), S::HostFirst),
            attempt(Is(b'.'), S::DomainFirst),
            attempt(Is(b'@'), S::Email),
            fail(Any),
        ],
    ),
    (
        S::Domain,
        &[
            found_surely(End, K::Host, S::Base),
            next(AsciiLetter, S::Domain),
            attempt(Digit, S::Host),
            attempt(Is(b':'), S::PortFirst),
            attempt(Is(b'-'), S::HostFirst),
            attempt(Is(b'_'), S::HostFirst),
            attempt(Is(b'.'), S::DomainFirst),
            attempt(Is(b'@'), S::Email),
            fail(Digit),
            found_surely(Test::HostAlone, K::Host, S::UrlPathStart),
            attempt(Is(b'/'), S::Url),
            found_surely(Any, K::Host, S::Base),
        ],
    ),
    (S::PortFirst, &[fail(End), next(Digit, S::Port), fail(Any)]),
    (
        S::Port,
        &[
            found_surely(End, K::Host, S::Base),
            next(Digit, S::Port),
            found_surely(Test::HostAlone, K::Host, S::UrlPathStart),
            attempt(Is(b'/'), S::Url),
            found_surely(Any, K::Host, S::Base),
        ],
    ),
    (S::HostFirst, &[fail(End), next(Digit, S::Host), next(AsciiLetter, S::Host), fail(Any)]),
    (
        S::Host,
        &[
            fail(End),
            next(Digit, S::Host),
            next(AsciiLetter, S::Host),
            attempt(Is(b'@'), S::Email),
            attempt(Is(b'.'), S::DomainFirst),
            attempt(Is(b'-'), S::HostFirst),
            attempt(Is(b'_'), S::HostFirst),
            fail(Any),
        ],
    ),
    (S::Email, &[fail(Test::HostAlone), found_surely(Test::Host, K::Email, S::Base), fail(Any)]),
    (S::ProtocolFirst, &[fail(End), next(Is(b'/'), S::ProtocolSecond), fail(Any)]),
    (S::ProtocolSecond, &[fail(End), next(Is(b'/'), S::ProtocolEnd), fail(Any)]),
    (S::ProtocolEnd, &[found_surely(Any, K::Protocol, S::Base)]),
    (S::Url, &[fail(End), with(Beside::BackForHost, found_surely(Test::UrlPath, K::Url, S::Base)), fail(Any)]),
    (S::UrlPathFirst, &[fail(End), next(UrlCharacter, S::UrlPath), fail(Any)]),
    (S::UrlPathStart, &[next(Any, S::UrlPath)]),
    (S::UrlPath, &[found(End, K::UrlPath, S::Base), next(UrlCharacter, S::UrlPath), found(Any, K::UrlPath, S::Base)]),
];
