//! FOR UPDATE and its kind, as PostgreSQL writes them: four strengths, several tables, before LIMIT or behind it.
//!
//! Done on tokens, before the parser sees them: sqlparser knows two strengths, one table, and LIMIT first. What it does
//! not know goes where it takes a dotted name:
//! ```text
//! FOR NO KEY UPDATE OF a, b SKIP LOCKED LIMIT 1   ─▶   LIMIT 1 FOR UPDATE OF "no key update".a.b SKIP LOCKED
//! ```
//! `read` is the other half. Texts that are kept stay as they were written.

use super::grammar::{Lines, is_reserved, is_word, syntax_error};
use super::is_blank;
use crate::error::PlanError;
use crate::hir::LockStrength;
use sqlparser::ast::{Ident, LockClause, LockType};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The strength of a clause, and the tables that it names; none are all.
pub(crate) fn read(clause: &LockClause) -> (LockStrength, Vec<&Ident>) {
    let plain = match clause.lock_type {
        LockType::Update => LockStrength::Update,
        LockType::Share => LockStrength::Share,
    };
    let names: Vec<&Ident> = clause.of.iter().flat_map(|of| &of.0).filter_map(|part| part.as_ident()).collect();
    match names.split_first() {
        Some((written, tables)) => {
            let strength = LockStrength::ALL.into_iter().find(|strength| strength.words() == written.value);
            (strength.unwrap_or(plain), tables.to_vec())
        }
        None => (plain, Vec::new()),
    }
}

/// The tokens with all such clauses in the form above.
///
/// # Errors
/// 42601 for a list of tables that is none.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>, PlanError> {
    let is_lock = |at: usize| {
        keyword(&tokens[at]) == Some(Keyword::FOR)
            && (strength(&mut tokens[at + 1..].iter().filter(|token| !is_blank(token))).is_some()
                || is_read_only(&mut tokens[at + 1..].iter().filter(|token| !is_blank(token))))
    };
    // What a policy is for is no clause.
    let mut first = tokens.iter().filter(|token| !is_blank(token));
    let is_policy = first.next().is_some_and(|token| is_word(token, "CREATE"))
        && first.next().is_some_and(|token| is_word(token, "POLICY"));
    if is_policy || !(0..tokens.len()).any(is_lock) {
        return Ok(tokens);
    }
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(|token| !is_blank(token)).collect();
    let mut out = WrittenTokens { tokens: Vec::with_capacity(tokens.len() + 4), is_clause: Vec::new() };
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let found = match keyword(first) {
            // It says that nothing is locked.
            Some(Keyword::FOR) if is_read_only(&mut after.iter()) => {
                out.end_at(after[1].span);
                rest = &after[2..];
                continue;
            }
            Some(Keyword::FOR) => strength(&mut after.iter()),
            _ => None,
        };
        match found {
            Some((strength, words)) => {
                // Its last word ends where it was written to end: a view's text is cut out by that.
                let last = after[words - 1].span;
                rest = out.clause((first.span, last), strength, &after[words..], lines)?;
            }
            None => {
                out.push(first.clone(), false);
                rest = after;
            }
        }
    }
    out.limits_first();
    Ok(out.tokens)
}

/// What the words behind FOR say, and how many they are.
fn strength<'t>(words: &mut dyn Iterator<Item = &'t TokenWithSpan>) -> Option<(LockStrength, usize)> {
    let next = |words: &mut dyn Iterator<Item = &'t TokenWithSpan>| words.next().and_then(keyword);
    match next(words)? {
        Keyword::UPDATE => Some((LockStrength::Update, 1)),
        Keyword::SHARE => Some((LockStrength::Share, 1)),
        Keyword::KEY => (next(words)? == Keyword::SHARE).then_some((LockStrength::KeyShare, 2)),
        Keyword::NO => {
            (next(words)? == Keyword::KEY && next(words)? == Keyword::UPDATE).then_some((LockStrength::NoKeyUpdate, 3))
        }
        _ => None,
    }
}

/// Whether READ ONLY stands behind FOR.
fn is_read_only(words: &mut dyn Iterator<Item = &TokenWithSpan>) -> bool {
    words.next().and_then(keyword) == Some(Keyword::READ) && words.next().and_then(keyword) == Some(Keyword::ONLY)
}

/// A statement's tokens, and which of them are lock clauses.
struct WrittenTokens {
    tokens: Vec<TokenWithSpan>,
    is_clause: Vec<bool>,
}

impl WrittenTokens {
    fn push(&mut self, token: TokenWithSpan, is_clause: bool) {
        self.tokens.push(token);
        self.is_clause.push(is_clause);
    }

    /// Lets the last token end where others that are left out do: a query's text is cut out by that.
    fn end_at(&mut self, span: Span) {
        if let Some(last) = self.tokens.last_mut() {
            last.span = Span { end: span.end, ..last.span };
        }
    }

    /// Adds a clause, of which `rest` begins behind the strength; gives what follows it.
    fn clause<'t>(
        &mut self,
        (span, last): (Span, Span),
        strength: LockStrength,
        mut rest: &'t [TokenWithSpan],
        lines: &Lines<'_>,
    ) -> Result<&'t [TokenWithSpan], PlanError> {
        let mut word = |token: Token| self.push(TokenWithSpan { token, span }, true);
        word(Token::make_keyword("FOR"));
        word(Token::make_keyword(match strength {
            LockStrength::Update | LockStrength::NoKeyUpdate => "UPDATE",
            LockStrength::Share | LockStrength::KeyShare => "SHARE",
        }));
        word(Token::make_keyword("OF"));
        let token = Token::make_word(strength.words(), Some('"'));
        self.push(TokenWithSpan { token, span: last }, true);
        if let [of, names @ ..] = rest
            && keyword(of) == Some(Keyword::OF)
        {
            rest = names;
            loop {
                let [name, after @ ..] = rest else {
                    return Err(syntax_error(lines, &super::grammar::end_of_input()));
                };
                if !is_name(name) {
                    return Err(syntax_error(lines, name));
                }
                self.push(TokenWithSpan { token: Token::Period, span: name.span }, true);
                self.push(name.clone(), true);
                match after {
                    [dot, ..] if dot.token == Token::Period => {
                        let message = format!("{} must specify unqualified relation names", strength.clause());
                        let position = lines.characters_before(name.span.start) as u32 + 1;
                        return Err(PlanError::new("42601", message).at(Some(position)));
                    }
                    [comma, after @ ..] if comma.token == Token::Comma => rest = after,
                    after => {
                        rest = after;
                        break;
                    }
                }
            }
        }
        let words = match rest {
            [word, ..] if keyword(word) == Some(Keyword::NOWAIT) => 1,
            [skip, locked, ..] if keyword(skip) == Some(Keyword::SKIP) && keyword(locked) == Some(Keyword::LOCKED) => 2,
            _ => 0,
        };
        let (wait, rest) = rest.split_at(words);
        wait.iter().for_each(|token| self.push(token.clone(), true));
        Ok(rest)
    }

    /// Moves clauses that stand before their query's LIMIT, OFFSET and FETCH behind these.
    fn limits_first(&mut self) {
        let mut start = 0;
        while start < self.tokens.len() {
            let length = self.is_clause[start..].iter().take_while(|is_clause| **is_clause).count();
            let limit = start + length;
            if length > 0 && self.tokens.get(limit).is_some_and(begins_limit) {
                let end = self.limit_end(limit);
                // Where the query's text ends stays where it was.
                let span = self.tokens[end - 1].span;
                self.tokens[start..limit].iter_mut().for_each(|token| token.span = span);
                self.tokens[start..end].rotate_left(length);
                self.is_clause[start..end].rotate_left(length);
            }
            start += length.max(1);
        }
    }

    /// Where the query ends whose LIMIT begins there.
    fn limit_end(&self, limit: usize) -> usize {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(limit) {
            match &token.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket if depth == 0 => return at,
                Token::RParen | Token::RBracket => depth -= 1,
                _ if depth == 0 && ends_query(token) => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_name(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_some() || !is_reserved(&word.value))
}

fn begins_limit(token: &TokenWithSpan) -> bool {
    matches!(keyword(token), Some(Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH))
}

/// What may follow a query within a statement, but for a parenthesis: INSERT's and CREATE TABLE AS's own clauses.
fn ends_query(token: &TokenWithSpan) -> bool {
    matches!(keyword(token), Some(Keyword::RETURNING | Keyword::ON | Keyword::WITH | Keyword::FOR))
}

#[cfg(test)]
mod tests {
    use crate::parse::{parse, parse_query};

    #[test]
    fn clauses_are_as_sqlparser_reads_them() {
        for (written, read) in [
            ("SELECT a FROM t FOR UPDATE", "SELECT a FROM t FOR UPDATE OF \"update\""),
            (
                "SELECT a FROM t, u FOR NO KEY UPDATE OF t, \"U\" NOWAIT",
                "SELECT a FROM t, u FOR UPDATE OF \"no key update\".t.\"U\" NOWAIT",
            ),
            (
                "SELECT a FROM t ORDER BY a FOR KEY SHARE SKIP LOCKED OFFSET 1 LIMIT 2",
                "SELECT a FROM t ORDER BY a LIMIT 2 OFFSET 1 FOR SHARE OF \"key share\" SKIP LOCKED",
            ),
            (
                "SELECT a FROM t FOR UPDATE OF t FOR SHARE OF u LIMIT (SELECT 1 FROM w FOR SHARE LIMIT 1)",
                "SELECT a FROM t LIMIT (SELECT 1 FROM w LIMIT 1 FOR SHARE OF \"share\") \
                 FOR UPDATE OF \"update\".t FOR SHARE OF \"share\".u",
            ),
            ("SELECT substring(a FOR 2) FROM t", "SELECT SUBSTRING(a FOR 2) FROM t"),
        ] {
            assert_eq!(parse_query(written).unwrap().to_string(), read, "{written}");
        }
    }

    #[test]
    fn what_follows_a_query_stays_behind_it() {
        for statement in [
            "INSERT INTO t SELECT a FROM u FOR UPDATE SKIP LOCKED LIMIT 1 ON CONFLICT DO NOTHING RETURNING a",
            "DELETE FROM t USING (SELECT a FROM u FOR UPDATE SKIP LOCKED LIMIT 1) v WHERE t.a = v.a RETURNING t.a",
            "CREATE TABLE v AS SELECT a FROM t FOR UPDATE LIMIT 1 WITH NO DATA",
        ] {
            parse(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        for (statement, message) in [
            ("SELECT 1 FROM t FOR UPDATE OF s.t", "FOR UPDATE must specify unqualified relation names"),
            ("SELECT 1 FROM t FOR NO KEY UPDATE OF", "syntax error at end of input"),
            ("SELECT 1 FROM t FOR KEY SHARE OF t,", "syntax error at end of input"),
            ("SELECT 1 FROM t FOR NO UPDATE", "syntax error at or near \"NO\""),
        ] {
            assert_eq!(parse(statement).unwrap_err().message, message, "{statement}");
        }
    }
}
