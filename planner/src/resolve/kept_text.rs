//! Types and relations that an expression's text names, from one reader's way of naming them to another's.
//!
//! The catalog keeps expressions as text, and reads them by one search path, whatever the session's is (`SearchPath::kept`).
//! So a text comes in by this door when it is kept, goes out by it when it is shown, and through it when something gets
//! another name. Works on tokens, so that the rest stays as it was written.

use super::types::builtin;
use crate::catalog::{Qualifier, Scope};
use crate::parse::operator_symbol::is_symbol;
use crate::parse::tokens_with_text;
use crate::scalar::func::parse_identifier;
use crate::system::builtin::operators_of;
use repr::ScalarType;
use sqlparser::tokenizer::{Token, Word};

/// The text with what `from` reads in it spelled so that `to` reads the same. Objects are the same by their OIDs.
pub(crate) fn respelled(text: &str, from: Scope<'_>, to: Scope<'_>) -> String {
    if from.path == to.path && std::ptr::eq(from.catalog, to.catalog) {
        return text.to_owned();
    }
    let tokens = tokens_with_text(text);
    let places = (0..tokens.len()).filter(|&place| !matches!(tokens[place].0, Token::Whitespace(_) | Token::EOF));
    let mut respelling = Respelling {
        places: places.collect(),
        texts: tokens.iter().map(|(_, text)| (*text).to_owned()).collect(),
        tokens: &tokens,
        from,
        to,
    };
    respelling.run();
    respelling.texts.concat()
}

struct Respelling<'a, 't> {
    tokens: &'a [(Token, &'t str)],
    /// Where the tokens are that are no blanks.
    places: Vec<usize>,
    texts: Vec<String>,
    from: Scope<'a>,
    to: Scope<'a>,
}

impl<'a> Respelling<'a, '_> {
    fn run(&mut self) {
        // For each open parenthesis whether it is CAST's.
        let mut casts = Vec::new();
        let mut at = 0;
        while at < self.places.len() {
            let before = at.checked_sub(1).and_then(|before| self.token(before));
            match self.token(at) {
                Some(Token::LParen) => casts.push(before.is_some_and(|before| is_word(before, "cast"))),
                Some(Token::RParen) => {
                    casts.pop();
                }
                Some(token) if is_word(token, "operator") && self.token(at + 1) == Some(&Token::LParen) => {
                    at += self.spelled_operator(at);
                }
                Some(Token::Word(_)) if before != Some(&Token::Period) => {
                    let count = self.dotted(at);
                    let cast = before == Some(&Token::DoubleColon)
                        || before.is_some_and(|before| is_word(before, "as")) && casts.last() == Some(&true);
                    let literal = matches!(self.token(at + 2 * count - 1), Some(Token::SingleQuotedString(_)));
                    let call = || self.token(at + 2 * count - 1) == Some(&Token::LParen) && self.names_range(at, count);
                    let is_call = self.token(at + 2 * count - 1) == Some(&Token::LParen);
                    if cast || literal || call() {
                        self.data_type(at, count);
                    } else if is_call {
                        self.routine(at, count);
                    }
                    at += 2 * (count - 1);
                }
                Some(Token::SingleQuotedString(name)) if self.names_relation(at) => self.relation(at, name),
                Some(token) if !self.from.catalog.operators.is_empty() && is_symbol(&token.to_string()) => {
                    self.bare_operator(at, &token.to_string());
                }
                Some(_) | None => {}
            }
            at += 1;
        }
    }

    fn token(&self, at: usize) -> Option<&'a Token> {
        self.places.get(at).map(|&place| &self.tokens[place].0)
    }

    /// How many words joined by dots stand from here on.
    fn dotted(&self, at: usize) -> usize {
        let mut count = 1;
        while self.token(at + 2 * count - 1) == Some(&Token::Period)
            && matches!(self.token(at + 2 * count), Some(Token::Word(_)))
        {
            count += 1;
        }
        count
    }

    fn words(&self, at: usize, count: usize) -> Vec<String> {
        let words = (0..count).filter_map(|part| match self.token(at + 2 * part) {
            Some(Token::Word(word)) => Some(folded(word)),
            _ => None,
        });
        words.collect()
    }

    /// Whether what is called is a created range, or its multirange.
    fn names_range(&self, at: usize, count: usize) -> bool {
        let words = self.words(at, count);
        let Some((name, before)) = words.split_last() else { return false };
        self.from.range_named(Qualifier::of(before), name).is_some()
    }

    /// What is called, if somebody created it: all of that name in a schema move with it.
    fn routine(&mut self, at: usize, count: usize) {
        let words = self.words(at, count);
        let Some((name, before)) = words.split_last() else { return };
        let qualifier = Qualifier::of(before);
        let Some(meant) = self.from.routines(qualifier, name).first().map(|found| found.id) else { return };
        if before.len() < 2 && self.to.routines(qualifier, name).first().is_some_and(|found| found.id == meant) {
            return;
        }
        if let Some(there) = self.to.catalog.routines.get(&meant) {
            let spelled = self.to.spelled_routine(there);
            self.replace(at, 2 * count - 1, spelled);
        }
    }

    /// `OPERATOR(schema.symbol)`, whose schema may have another name; how many tokens it takes, less one.
    fn spelled_operator(&mut self, at: usize) -> usize {
        let (first, count) = (at + 2, self.dotted(at + 2));
        let symbol = self.token(first + 2 * count).map(ToString::to_string).unwrap_or_default();
        if self.token(first + 2 * count - 1) != Some(&Token::Period) || !is_symbol(&symbol) {
            return 0;
        }
        let words = self.words(first, count);
        let meant = self.from.operators(Qualifier::of(&words), &symbol).first().map(|found| found.id);
        if let Some(there) = meant.and_then(|id| self.to.catalog.operators.get(&id)) {
            let is_same = self.to.operators(Qualifier::of(&words), &symbol).iter().any(|found| found.id == there.id);
            if !is_same || count > 1 {
                let schema = self.to.qualifier(there.namespace);
                self.replace(first, 2 * count - 1, schema);
            }
        }
        2 * count + 2
    }

    /// A symbol that PostgreSQL has no operator of, where its schema is not searched.
    fn bare_operator(&mut self, at: usize, symbol: &str) {
        let meant = self.from.operators(None, symbol);
        let Some(first) = meant.first() else { return };
        let seen = self.to.operators(None, symbol);
        let is_seen = meant.iter().all(|found| seen.iter().any(|known| known.id == found.id));
        let is_alone = meant.iter().all(|found| found.namespace == first.namespace);
        if is_seen || !is_alone || !operators_of(symbol).is_empty() {
            return;
        }
        if let Some(there) = self.to.catalog.operators.get(&first.id) {
            self.replace(at, 1, format!("OPERATOR({}.{symbol})", self.to.qualifier(there.namespace)));
        }
    }

    fn data_type(&mut self, at: usize, count: usize) {
        let words = self.words(at, count);
        let Some((name, before)) = words.split_last() else { return };
        let qualifier = Qualifier::of(before);
        if before.is_empty()
            && let Some(built_in) = builtin(name)
            && (ScalarType::is_word(name) || !self.from.hides_built_in(name))
        {
            if !self.to.sees_built_in(&built_in) {
                self.replace(at, 2 * count - 1, format!("pg_catalog.{}", built_in.type_name()));
            }
            return;
        }
        let read = |scope: Scope<'a>| {
            let plain = scope.type_named(qualifier, name).map(|found| (found, ""));
            plain.or_else(|| {
                let element = scope.element_named(qualifier, name)?;
                element.scalar().map(|_| (element, "[]"))
            })
        };
        let Some((meant, suffix)) = read(self.from) else { return self.extension_type(at, count, qualifier, name) };
        if before.len() < 2 && read(self.to).is_some_and(|(found, _)| found.id == meant.id) {
            return;
        }
        if let Some(there) = self.to.catalog.types.get(&meant.id) {
            let spelled = format!("{}{suffix}", self.to.spelled_type(there));
            self.replace(at, 2 * count - 1, spelled);
        }
    }

    fn extension_type(&mut self, at: usize, count: usize, qualifier: Qualifier<'_>, name: &str) {
        let Some(meant) = self.from.created_type(qualifier, name) else { return };
        if self.to.created_type(qualifier, name).as_ref() != Some(&meant) {
            self.replace(at, 2 * count - 1, self.to.spelled_scalar(&meant, -1));
        }
    }

    /// Whether a string is read as a relation's name.
    fn names_relation(&self, at: usize) -> bool {
        let before = |count: usize| at.checked_sub(count).and_then(|before| self.token(before));
        let is = |token: Option<&Token>, wanted: &str| token.is_some_and(|token| is_word(token, wanted));
        let argument = before(1) == Some(&Token::LParen)
            && ["nextval", "currval", "setval"].iter().any(|name| is(before(2), name));
        let cast = self.token(at + 1) == Some(&Token::DoubleColon)
            && (is(self.token(at + 2), "regclass")
                || is(self.token(at + 2), "pg_catalog") && is(self.token(at + 4), "regclass"));
        argument || cast || is(before(1), "regclass")
    }

    fn relation(&mut self, at: usize, name: &str) {
        let Ok(parts) = parse_identifier(name, true) else { return };
        let Some((name, before)) = parts.split_last() else { return };
        let qualifier = Qualifier::of(before);
        let Some(meant) = self.from.class(qualifier, name) else { return };
        if before.len() < 2 && self.to.class(qualifier, name).is_some_and(|found| found.oid() == meant.oid()) {
            return;
        }
        if let Some(spelled) = self.to.spelled_by_oid(meant.oid()) {
            self.replace(at, 1, format!("'{}'", spelled.replace('\'', "''")));
        }
    }

    fn replace(&mut self, at: usize, count: usize, new: String) {
        for place in self.places[at]..=self.places[at + count - 1] {
            self.texts[place].clear();
        }
        self.texts[self.places[at]] = new;
    }
}

fn folded(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::respelled;
    use crate::catalog::{
        Catalog, CreatedType, DatabaseId, Enumeration, Namespace, NamespaceId, Scope, SearchPath, TypeKind,
    };
    use std::sync::Arc;

    #[test]
    fn types_and_relations_keep_their_meaning_and_the_rest_its_text() {
        let mut catalog = Catalog::default();
        for (id, name) in [(20_000, "a"), (20_001, "B")] {
            catalog.namespaces.insert(NamespaceId(id), Namespace { name: name.into(), database: DatabaseId::FIRST });
        }
        for (id, namespace) in [(20_010, NamespaceId(20_000)), (20_020, NamespaceId(20_001))] {
            let found =
                CreatedType { id, name: "mood".into(), namespace, kind: TypeKind::Enum(Enumeration::default()) };
            catalog.types.insert(id, Arc::new(found));
        }
        let path = SearchPath::of("a", crate::catalog::Actor::default(), ("d", DatabaseId::FIRST), &catalog);
        let (from, to) = (Scope { catalog: &catalog, path: &path }, Scope::from(&catalog));
        for (text, expected) in [
            ("'x'::mood", "'x'::a.mood"),
            ("CAST(mood AS  mood)", "CAST(mood AS  a.mood)"),
            ("x::mood[] = y :: \"B\".mood", "x::a.mood[] = y :: \"B\".mood"),
            ("x::_mood", "x::a.mood[]"),
            ("mood 'x' <> 'mood'", "a.mood 'x' <> 'mood'"),
            ("d.a.mood 'x'", "a.mood 'x'"),
            ("'pg_class'::regclass", "'pg_class'::regclass"),
        ] {
            assert_eq!(respelled(text, from, to), expected);
        }
        assert_eq!(respelled("'x'::a.mood", to, from), "'x'::a.mood", "what is read right stays as it is");
    }
}
