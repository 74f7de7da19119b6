//! What the parser of texts looks for in each of its states: PostgreSQL's default parser, rule by rule.
//!
//! In each state the first rule whose test holds is taken. A rule that tries puts the place aside; if nothing comes of it, what
//! was put aside is taken back, and the rules behind that one are tried.

mod files;
mod hosts;
mod hyphens;
mod markup;
mod numbers;
mod words;

use super::TokenKind;
use std::sync::LazyLock;

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

/// The rules of each state, by its number.
static RULES: LazyLock<Vec<&[Rule]>> = LazyLock::new(|| {
    let families = [words::RULES, numbers::RULES, markup::RULES, hosts::RULES, files::RULES, hyphens::RULES].concat();
    let mut rules: Vec<&[Rule]> = vec![&[]; families.len()];
    for (state, own) in families {
        rules[state as usize] = own;
    }
    rules
});

impl State {
    /// Its rules, the last of which always holds.
    pub(super) fn rules(self) -> &'static [Rule] {
        RULES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_ends_with_a_rule_that_holds() {
        assert_eq!(RULES.len(), State::DigitsPart as usize + 1);
        for (number, rules) in RULES.iter().enumerate() {
            assert!(matches!(rules.last(), Some(Rule { test: Test::Any, .. })), "{number}");
        }
    }
}
