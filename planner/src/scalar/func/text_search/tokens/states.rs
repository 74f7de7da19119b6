//! What the parser of texts looks for in each of its states: PostgreSQL's default parser, rule by rule.
//!
//! In each state the first rule whose test holds is taken. A rule that tries puts the place aside; if nothing comes of it, what
//! was put aside is taken back, and the rules behind that one are tried.

use super::TokenKind;
use super::TokenKind as K;
use State as S;
use Test::{Alnum, Any, AsciiLetter, Digit, End, Hex, Ignored, Is, Letter, NotAlnum, Space, Special, UrlCharacter};

/// What the next character has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    Any,
    End,
    Is(u8),
    AsciiLetter,
    Letter,
    Digit,
    Alnum,
    NotAlnum,
    /// A mark that belongs to the letter before it.
    Special,
    Space,
    Hex,
    UrlCharacter,
    /// Within `<script>` and `<style>`.
    Ignored,
    /// Only the host of a URL or of an address is looked for.
    HostAlone,
    /// A host stands there: it is passed.
    Host,
    /// The path of a URL stands there: it is passed.
    UrlPath,
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// On to the next character.
    Next,
    /// The same, with the place put aside.
    Try,
    /// Back to what was put aside.
    Fail,
    /// Once more in the new state, at the same character.
    Again,
    /// On to the next character; what was put aside last is forgotten.
    Forget,
    /// What was put aside is taken back, but the place is kept.
    Join,
    /// A token, up to here. What of what was put aside is forgotten.
    Found(TokenKind, Forgotten),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Forgotten {
    Nothing,
    Last,
    All,
}

/// What is done beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    /// `<script>` and `<style>` begin and end what is ignored.
    Tag,
    /// Back to the token's start.
    Back,
    /// The same; then its host is looked for.
    BackForHost,
    /// The same, with an empty token.
    BackEmpty,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) test: Test,
    pub(super) act: Act,
    /// The next state; none for the same.
    pub(super) to: Option<State>,
    pub(super) beside: Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Base,
    NumWord,
    AsciiWord,
    Word,
    UnsignedInt,
    SignedIntFirst,
    SignedInt,
    Blank,
    UnsignedDecimalFirst,
    UnsignedDecimal,
    DecimalFirst,
    Decimal,
    SignedVersionFirst,
    SignedVersion,
    VersionFirst,
    Version,
    ExponentFirst,
    ExponentSign,
    Exponent,
    EntityFirst,
    Entity,
    EntityNumberFirst,
    EntityNumber,
    EntityHexFirst,
    EntityHex,
    EntityEnd,
    TagFirst,
    XmlFirst,
    TagCloseFirst,
    TagName,
    TagSlash,
    Tag,
    TagQuoted,
    TagDoubleQuoted,
    TagEscaped,
    TagEnd,
    CommentFirst,
    CommentSecond,
    Comment,
    CommentCloseFirst,
    CommentCloseSecond,
    CommentEnd,
    DomainFirst,
    DomainSecond,
    Domain,
    PortFirst,
    Port,
    HostFirst,
    Host,
    Email,
    FileFirst,
    FileTilde,
    PathDotInside,
    PathDot,
    PathDots,
    File,
    FileDot,
    UrlPathFirst,
    UrlPathStart,
    UrlPath,
    Url,
    ProtocolFirst,
    ProtocolSecond,
    ProtocolEnd,
    AsciiHyphen,
    AsciiHyphenated,
    WordHyphen,
    Hyphenated,
    NumHyphen,
    NumHyphenated,
    DigitsAhead,
    Parts,
    PartsHyphen,
    WordPart,
    AsciiPart,
    NumPart,
    DigitsPart,
}

const fn rule(test: Test, act: Act, to: Option<State>) -> Rule {
    Rule { test, act, to, beside: Beside::Nothing }
}
const fn next(test: Test, to: State) -> Rule {
    rule(test, Act::Next, Some(to))
}
const fn stay(test: Test) -> Rule {
    rule(test, Act::Next, None)
}
const fn attempt(test: Test, to: State) -> Rule {
    rule(test, Act::Try, Some(to))
}
const fn fail(test: Test) -> Rule {
    rule(test, Act::Fail, None)
}
const fn forget(test: Test, to: State) -> Rule {
    rule(test, Act::Forget, Some(to))
}
const fn again(test: Test, to: State) -> Rule {
    rule(test, Act::Again, Some(to))
}
const fn found(test: Test, kind: TokenKind, to: State) -> Rule {
    rule(test, Act::Found(kind, Forgotten::Nothing), Some(to))
}
const fn found_surely(test: Test, kind: TokenKind, to: State) -> Rule {
    rule(test, Act::Found(kind, Forgotten::All), Some(to))
}
const fn found_after_all(test: Test, kind: TokenKind, to: State) -> Rule {
    rule(test, Act::Found(kind, Forgotten::Last), Some(to))
}
const fn with(beside: Beside, rule: Rule) -> Rule {
    Rule { beside, ..rule }
}

impl State {
    /// Its rules, the last of which always holds.
    pub(super) fn rules(self) -> &'static [Rule] {
        self.of_words()
            .or_else(|| self.of_numbers())
            .or_else(|| self.of_markup())
            .or_else(|| self.of_hosts())
            .or_else(|| self.of_files())
            .or_else(|| self.of_hyphens())
            .unwrap_or(const { &[found(Any, K::Blank, S::Base)] })
    }

    fn of_words(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::Base => const {
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
                ]
            },
            S::NumWord => const {
                &[
                    found(End, K::NumWord, S::Base),
                    next(Alnum, S::NumWord),
                    next(Special, S::NumWord),
                    attempt(Is(b'@'), S::Email),
                    attempt(Is(b'/'), S::FileFirst),
                    attempt(Is(b'.'), S::FileDot),
                    attempt(Is(b'-'), S::NumHyphen),
                    found(Any, K::NumWord, S::Base),
                ]
            },
            S::AsciiWord => const {
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
                ]
            },
            S::Word => const {
                &[
                    found(End, K::Word, S::Base),
                    stay(Letter),
                    stay(Special),
                    next(Digit, S::NumWord),
                    attempt(Is(b'-'), S::WordHyphen),
                    found(Any, K::Word, S::Base),
                ]
            },
            S::Blank => const {
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
                ]
            },
            _ => return None,
        })
    }

    fn of_numbers(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::UnsignedInt => const {
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
                ]
            },
            S::SignedIntFirst => const { &[fail(End), forget(Digit, S::SignedInt), fail(Any)] },
            S::SignedInt => const {
                &[
                    found(End, K::SignedInt, S::Base),
                    stay(Digit),
                    attempt(Is(b'.'), S::DecimalFirst),
                    attempt(Is(b'e'), S::ExponentFirst),
                    attempt(Is(b'E'), S::ExponentFirst),
                    found(Any, K::SignedInt, S::Base),
                ]
            },
            S::UnsignedDecimalFirst => const { &[fail(End), forget(Digit, S::UnsignedDecimal), fail(Any)] },
            S::UnsignedDecimal => const {
                &[
                    found(End, K::Float, S::Base),
                    next(Digit, S::UnsignedDecimal),
                    attempt(Is(b'.'), S::VersionFirst),
                    attempt(Is(b'e'), S::ExponentFirst),
                    attempt(Is(b'E'), S::ExponentFirst),
                    found(Any, K::Float, S::Base),
                ]
            },
            S::DecimalFirst => const { &[fail(End), forget(Digit, S::Decimal), fail(Any)] },
            S::Decimal => const {
                &[
                    found(End, K::Float, S::Base),
                    next(Digit, S::Decimal),
                    attempt(Is(b'.'), S::SignedVersionFirst),
                    attempt(Is(b'e'), S::ExponentFirst),
                    attempt(Is(b'E'), S::ExponentFirst),
                    found(Any, K::Float, S::Base),
                ]
            },
            S::SignedVersionFirst => const {
                &[fail(End), with(Beside::BackEmpty, again(Digit, S::SignedVersion)), fail(Any)]
            },
            S::SignedVersion => const {
                &[fail(End), found_surely(Digit, K::Blank, S::UnsignedInt), stay(Any)]
            },
            S::VersionFirst => const { &[fail(End), forget(Digit, S::Version), fail(Any)] },
            S::Version => const {
                &[
                    found(End, K::Version, S::Base),
                    next(Digit, S::Version),
                    attempt(Is(b'.'), S::VersionFirst),
                    found(Any, K::Version, S::Base),
                ]
            },
            S::ExponentFirst => const {
                &[
                    fail(End),
                    forget(Digit, S::Exponent),
                    next(Is(b'+'), S::ExponentSign),
                    next(Is(b'-'), S::ExponentSign),
                    fail(Any),
                ]
            },
            S::ExponentSign => const { &[fail(End), forget(Digit, S::Exponent), fail(Any)] },
            S::Exponent => const {
                &[found(End, K::Scientific, S::Base), next(Digit, S::Exponent), found(Any, K::Scientific, S::Base)]
            },
            _ => return None,
        })
    }

    fn of_markup(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::EntityFirst => const {
                &[
                    fail(End),
                    next(Is(b'#'), S::EntityNumberFirst),
                    next(AsciiLetter, S::Entity),
                    next(Is(b':'), S::Entity),
                    next(Is(b'_'), S::Entity),
                    fail(Any),
                ]
            },
            S::Entity => const {
                &[
                    fail(End),
                    stay(Alnum),
                    stay(Is(b':')),
                    stay(Is(b'_')),
                    stay(Is(b'.')),
                    stay(Is(b'-')),
                    next(Is(b';'), S::EntityEnd),
                    fail(Any),
                ]
            },
            S::EntityNumberFirst => const {
                &[
                    fail(End),
                    next(Is(b'x'), S::EntityHexFirst),
                    next(Is(b'X'), S::EntityHexFirst),
                    next(Digit, S::EntityNumber),
                    fail(Any),
                ]
            },
            S::EntityHexFirst => const { &[fail(End), next(Hex, S::EntityHex), fail(Any)] },
            S::EntityNumber => const { &[fail(End), stay(Digit), next(Is(b';'), S::EntityEnd), fail(Any)] },
            S::EntityHex => const { &[fail(End), stay(Hex), next(Is(b';'), S::EntityEnd), fail(Any)] },
            S::EntityEnd => const { &[found_after_all(Any, K::Entity, S::Base)] },
            S::TagFirst => const {
                &[
                    fail(End),
                    attempt(Is(b'/'), S::TagCloseFirst),
                    attempt(Is(b'!'), S::CommentFirst),
                    attempt(Is(b'?'), S::XmlFirst),
                    attempt(AsciiLetter, S::TagName),
                    attempt(Is(b':'), S::TagName),
                    attempt(Is(b'_'), S::TagName),
                    fail(Any),
                ]
            },
            S::XmlFirst => const { &[fail(End), next(Is(b'x'), S::Tag), fail(Any)] },
            S::TagCloseFirst => const { &[fail(End), next(AsciiLetter, S::TagName), fail(Any)] },
            S::TagName => const {
                &[
                    fail(End),
                    next(Is(b'/'), S::TagSlash),
                    with(Beside::Tag, next(Is(b'>'), S::TagEnd)),
                    with(Beside::Tag, next(Space, S::Tag)),
                    stay(Alnum),
                    stay(Is(b':')),
                    stay(Is(b'_')),
                    stay(Is(b'.')),
                    stay(Is(b'-')),
                    fail(Any),
                ]
            },
            S::TagSlash => const { &[fail(End), next(Is(b'>'), S::TagEnd), fail(Any)] },
            S::Tag => const {
                &[
                    fail(End),
                    with(Beside::Tag, next(Is(b'>'), S::TagEnd)),
                    next(Is(b'\''), S::TagQuoted),
                    next(Is(b'"'), S::TagDoubleQuoted),
                    stay(AsciiLetter),
                    stay(Digit),
                    stay(Is(b'=')),
                    stay(Is(b'-')),
                    stay(Is(b'_')),
                    stay(Is(b'#')),
                    stay(Is(b'/')),
                    stay(Is(b':')),
                    stay(Is(b'.')),
                    stay(Is(b'&')),
                    stay(Is(b'?')),
                    stay(Is(b'%')),
                    stay(Is(b'~')),
                    with(Beside::Tag, stay(Space)),
                    fail(Any),
                ]
            },
            S::TagQuoted => const {
                &[fail(End), attempt(Is(b'\\'), S::TagEscaped), next(Is(b'\''), S::Tag), stay(Any)]
            },
            S::TagDoubleQuoted => const {
                &[fail(End), attempt(Is(b'\\'), S::TagEscaped), next(Is(b'"'), S::Tag), stay(Any)]
            },
            S::TagEscaped => const { &[fail(End), rule(Any, Act::Join, None)] },
            S::TagEnd | S::CommentEnd => const { &[found_surely(Any, K::Tag, S::Base)] },
            S::CommentFirst => const {
                &[
                    fail(End),
                    next(Is(b'-'), S::CommentSecond),
                    next(Is(b'D'), S::Tag),
                    next(Is(b'd'), S::Tag),
                    fail(Any),
                ]
            },
            S::CommentSecond => const { &[fail(End), next(Is(b'-'), S::Comment), fail(Any)] },
            S::Comment => const { &[fail(End), next(Is(b'-'), S::CommentCloseFirst), stay(Any)] },
            S::CommentCloseFirst => const {
                &[fail(End), next(Is(b'-'), S::CommentCloseSecond), next(Any, S::Comment)]
            },
            S::CommentCloseSecond => const {
                &[fail(End), stay(Is(b'-')), next(Is(b'>'), S::CommentEnd), next(Any, S::Comment)]
            },
            _ => return None,
        })
    }

    fn of_hosts(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::DomainFirst => const {
                &[fail(End), next(AsciiLetter, S::DomainSecond), next(Digit, S::Host), fail(Any)]
            },
            S::DomainSecond => const {
                &[
                    fail(End),
                    next(AsciiLetter, S::Domain),
                    attempt(Digit, S::Host),
                    attempt(Is(b'-'), S::HostFirst),
                    attempt(Is(b'_'), S::HostFirst),
                    attempt(Is(b'.'), S::DomainFirst),
                    attempt(Is(b'@'), S::Email),
                    fail(Any),
                ]
            },
            S::Domain => const {
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
                ]
            },
            S::PortFirst => const { &[fail(End), next(Digit, S::Port), fail(Any)] },
            S::Port => const {
                &[
                    found_surely(End, K::Host, S::Base),
                    next(Digit, S::Port),
                    found_surely(Test::HostAlone, K::Host, S::UrlPathStart),
                    attempt(Is(b'/'), S::Url),
                    found_surely(Any, K::Host, S::Base),
                ]
            },
            S::HostFirst => const { &[fail(End), next(Digit, S::Host), next(AsciiLetter, S::Host), fail(Any)] },
            S::Host => const {
                &[
                    fail(End),
                    next(Digit, S::Host),
                    next(AsciiLetter, S::Host),
                    attempt(Is(b'@'), S::Email),
                    attempt(Is(b'.'), S::DomainFirst),
                    attempt(Is(b'-'), S::HostFirst),
                    attempt(Is(b'_'), S::HostFirst),
                    fail(Any),
                ]
            },
            S::Email => const { &[fail(Test::HostAlone), found_surely(Test::Host, K::Email, S::Base), fail(Any)] },
            S::ProtocolFirst => const { &[fail(End), next(Is(b'/'), S::ProtocolSecond), fail(Any)] },
            S::ProtocolSecond => const { &[fail(End), next(Is(b'/'), S::ProtocolEnd), fail(Any)] },
            S::ProtocolEnd => const { &[found_surely(Any, K::Protocol, S::Base)] },
            S::Url => const {
                &[
                    fail(End),
                    with(Beside::BackForHost, found_surely(Test::UrlPath, K::Url, S::Base)),
                    fail(Any),
                ]
            },
            S::UrlPathFirst => const { &[fail(End), next(UrlCharacter, S::UrlPath), fail(Any)] },
            S::UrlPathStart => const { &[next(Any, S::UrlPath)] },
            S::UrlPath => const {
                &[found(End, K::UrlPath, S::Base), next(UrlCharacter, S::UrlPath), found(Any, K::UrlPath, S::Base)]
            },
            _ => return None,
        })
    }

    fn of_files(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::FileFirst => const {
                &[
                    fail(End),
                    next(AsciiLetter, S::File),
                    next(Digit, S::File),
                    next(Is(b'.'), S::PathDotInside),
                    next(Is(b'_'), S::File),
                    attempt(Is(b'~'), S::FileTilde),
                    fail(Any),
                ]
            },
            S::FileTilde => const {
                &[
                    fail(End),
                    next(AsciiLetter, S::File),
                    next(Digit, S::File),
                    next(Is(b'_'), S::File),
                    next(Is(b'/'), S::FileFirst),
                    fail(Any),
                ]
            },
            S::PathDotInside => const {
                &[
                    fail(End),
                    next(AsciiLetter, S::File),
                    next(Digit, S::File),
                    next(Is(b'_'), S::File),
                    next(Is(b'.'), S::PathDots),
                    next(Is(b'/'), S::FileFirst),
                    fail(Any),
                ]
            },
            S::PathDot => const {
                &[fail(End), next(Is(b'.'), S::PathDots), next(Is(b'/'), S::FileFirst), fail(Any)]
            },
            S::PathDots => const {
                &[
                    found_after_all(End, K::File, S::Base),
                    attempt(Is(b'/'), S::FileFirst),
                    found_after_all(Is(b'/'), K::File, S::Base),
                    found_after_all(Space, K::File, S::Base),
                    fail(Any),
                ]
            },
            S::File => const {
                &[
                    found(End, K::File, S::Base),
                    next(AsciiLetter, S::File),
                    next(Digit, S::File),
                    attempt(Is(b'.'), S::FileDot),
                    next(Is(b'_'), S::File),
                    next(Is(b'-'), S::File),
                    attempt(Is(b'/'), S::FileFirst),
                    found(Any, K::File, S::Base),
                ]
            },
            S::FileDot => const {
                &[fail(End), forget(AsciiLetter, S::File), forget(Digit, S::File), forget(Is(b'_'), S::File), fail(Any)]
            },
            _ => return None,
        })
    }

    fn of_hyphens(self) -> Option<&'static [Rule]> {
        Some(match self {
            S::AsciiHyphen => const {
                &[
                    fail(End),
                    next(AsciiLetter, S::AsciiHyphenated),
                    next(Letter, S::Hyphenated),
                    next(Digit, S::DigitsAhead),
                    fail(Any),
                ]
            },
            S::AsciiHyphenated => const {
                &[
                    with(Beside::Back, found_surely(End, K::AsciiHyphenated, S::Parts)),
                    next(AsciiLetter, S::AsciiHyphenated),
                    next(Letter, S::Hyphenated),
                    next(Special, S::Hyphenated),
                    next(Digit, S::NumHyphenated),
                    attempt(Is(b'-'), S::AsciiHyphen),
                    with(Beside::Back, found_surely(Any, K::AsciiHyphenated, S::Parts)),
                ]
            },
            S::WordHyphen => const {
                &[fail(End), next(Letter, S::Hyphenated), next(Digit, S::DigitsAhead), fail(Any)]
            },
            S::Hyphenated => const {
                &[
                    with(Beside::Back, found_surely(End, K::Hyphenated, S::Parts)),
                    next(Letter, S::Hyphenated),
                    next(Special, S::Hyphenated),
                    next(Digit, S::NumHyphenated),
                    attempt(Is(b'-'), S::WordHyphen),
                    with(Beside::Back, found_surely(Any, K::Hyphenated, S::Parts)),
                ]
            },
            S::NumHyphen => const {
                &[fail(End), next(Letter, S::NumHyphenated), next(Digit, S::DigitsAhead), fail(Any)]
            },
            S::NumHyphenated => const {
                &[
                    with(Beside::Back, found_surely(End, K::NumHyphenated, S::Parts)),
                    next(Alnum, S::NumHyphenated),
                    next(Special, S::NumHyphenated),
                    attempt(Is(b'-'), S::NumHyphen),
                    with(Beside::Back, found_surely(Any, K::NumHyphenated, S::Parts)),
                ]
            },
            S::DigitsAhead => const {
                &[
                    fail(End),
                    next(Digit, S::DigitsAhead),
                    next(Letter, S::NumHyphenated),
                    next(Special, S::NumHyphenated),
                    fail(Any),
                ]
            },
            S::Parts => const {
                &[
                    again(End, S::Base),
                    next(AsciiLetter, S::AsciiPart),
                    next(Letter, S::WordPart),
                    attempt(Digit, S::DigitsPart),
                    attempt(Is(b'-'), S::PartsHyphen),
                    again(Any, S::Base),
                ]
            },
            S::PartsHyphen => const {
                &[
                    fail(End),
                    found_after_all(Alnum, K::Blank, S::Parts),
                    found_after_all(Special, K::Blank, S::Parts),
                    fail(Any),
                ]
            },
            S::WordPart => const {
                &[
                    found(End, K::WordPart, S::Base),
                    next(Letter, S::WordPart),
                    next(Special, S::WordPart),
                    next(Digit, S::NumPart),
                    found(Any, K::WordPart, S::Parts),
                ]
            },
            S::AsciiPart => const {
                &[
                    found(End, K::AsciiPart, S::Base),
                    next(AsciiLetter, S::AsciiPart),
                    next(Letter, S::WordPart),
                    next(Special, S::WordPart),
                    next(Digit, S::NumPart),
                    found(Any, K::AsciiPart, S::Parts),
                ]
            },
            S::NumPart => const {
                &[
                    found(End, K::NumPart, S::Base),
                    next(Alnum, S::NumPart),
                    next(Special, S::NumPart),
                    found(Any, K::NumPart, S::Parts),
                ]
            },
            S::DigitsPart => const {
                &[fail(End), stay(Digit), forget(Letter, S::NumPart), forget(Special, S::NumPart), fail(Any)]
            },
            _ => return None,
        })
    }
}
