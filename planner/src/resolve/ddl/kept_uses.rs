//! Texts that the catalog keeps and that call a function, or use an operator.

use super::change::DefinitionChange;
use crate::catalog::{DatabaseId, DefaultValue, NamespaceId, Operator, Routine, Scope, Table};
use crate::error::PlanError;
use crate::parse::tokens_with_text;
use crate::resolve::operators_used::{TextOver, operators_used};
use repr::{Id, RelationId};
use sqlparser::tokenizer::Token;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A text that the catalog keeps and that calls a function.
pub(super) struct KeptUse {
    /// What it is of.
    pub(super) line: String,
    /// A view's query.
    pub(super) view: Option<RelationId>,
    /// What it gave is kept, or decides where a row is found.
    pub(super) is_stored: bool,
}

/// A text that the catalog keeps.
struct KeptText<'a> {
    text: &'a str,
    over: TextOver<'a>,
    of: KeptUse,
}

impl DefinitionChange<'_> {
    /// The texts of its database that call a routine: by its name, whatever its arguments, or by an operator.
    pub(super) fn uses_of_routine(&self, routine: &Routine) -> Vec<KeptUse> {
        let home = self.catalog.database_of(routine.namespace);
        let names = self.callers(home, BTreeSet::from([routine.name.clone()]));
        let calls = |operator: &&Arc<Operator>| {
            self.catalog.routines.get(&operator.routine).is_some_and(|found| names.contains(&found.name))
        };
        let operators: Vec<&Arc<Operator>> = self.catalog.operators.values().filter(calls).collect();
        self.uses(home, &names, &operators)
    }

    /// The texts of its database that use an operator.
    pub(super) fn uses_of_operator(&self, operator: &Operator) -> Vec<KeptUse> {
        let home = self.catalog.database_of(operator.namespace);
        let Some(found) = self.catalog.operators.get(&operator.id) else { return Vec::new() };
        self.uses(home, &BTreeSet::new(), &[found])
    }

    fn uses(&self, home: DatabaseId, names: &BTreeSet<String>, operators: &[&Arc<Operator>]) -> Vec<KeptUse> {
        let symbols: BTreeSet<&str> = operators.iter().map(|operator| &*operator.name).collect();
        let ids: BTreeSet<Id> = operators.iter().map(|operator| operator.id).collect();
        // A body stands in the place of its call, or what it gives is kept.
        let has_symbol = |routine: &&Arc<Routine>| mentions_any(&routine.body.text, &symbols);
        let by_symbol = self.catalog.routines.values().filter(has_symbol).map(|found| found.name.clone()).collect();
        let by_symbol = if symbols.is_empty() { BTreeSet::new() } else { self.callers(home, by_symbol) };
        let is_used = |kept: &KeptText<'_>| {
            if calls_any(kept.text, names) {
                return true;
            }
            let calls = calls_any(kept.text, &by_symbol);
            let mentions = mentions_any(kept.text, &symbols);
            if !calls && !mentions {
                return false;
            }
            match operators_used(Scope::from(&self.catalog), kept.text, kept.over) {
                Ok(used) => !used.is_disjoint(&ids),
                Err(_) => mentions || kept.of.is_stored,
            }
        };
        self.kept_texts(home).into_iter().filter(is_used).map(|kept| kept.of).collect()
    }

    /// The names of functions whose bodies call one of these, with these.
    fn callers(&self, home: DatabaseId, mut names: BTreeSet<String>) -> BTreeSet<String> {
        // Bodies are texts that name others.
        loop {
            let calls = |found: &&Arc<Routine>| {
                self.catalog.database_of(found.namespace) == home
                    && !names.contains(&found.name)
                    && calls_any(&found.body.text, &names)
            };
            let more: Vec<String> =
                self.catalog.routines.values().filter(calls).map(|found| found.name.clone()).collect();
            if more.is_empty() {
                return names;
            }
            names.extend(more);
        }
    }

    fn kept_texts(&self, home: DatabaseId) -> Vec<KeptText<'_>> {
        let is_here = |namespace: NamespaceId| self.catalog.database_of(namespace) == home;
        let mut texts = Vec::new();
        for table in self.catalog.relations.values().filter(|table| is_here(table.namespace)) {
            self.texts_of_table(table, &mut texts);
        }
        for found in self.catalog.types.values().filter(|found| is_here(found.namespace)) {
            let Some(domain) = found.domain() else { continue };
            for text in domain.checks.iter().map(|check| &check.expression).chain(&domain.default) {
                let line = format!("type {}", self.shown_type(found.id));
                let of = KeptUse { line, view: None, is_stored: false };
                texts.push(KeptText { text, over: TextOver::Value(&domain.base), of });
            }
        }
        texts
    }

    fn texts_of_table<'c>(&'c self, table: &'c Table, texts: &mut Vec<KeptText<'c>>) {
        let shown = format!("{} {}", table.kind(), self.shown(table));
        let mut add = |text: &'c str, line: String, is_stored: bool| {
            let of = KeptUse { line, view: None, is_stored };
            texts.push(KeptText { text, over: TextOver::Row(table), of });
        };
        for column in table.columns.iter().filter(|column| !column.dropped) {
            match &column.default {
                Some(DefaultValue::Expr(text)) => {
                    add(text, format!("default value for column {} of {shown}", column.name), false);
                }
                Some(DefaultValue::Generated(text)) => {
                    let what = if column.hidden { "an index of" } else { "a generated column of" };
                    add(text, format!("{what} {shown}"), true);
                }
                Some(DefaultValue::Serial(_) | DefaultValue::Identity { .. }) | None => {}
            }
        }
        for check in &table.checks {
            add(&check.expression, format!("constraint {} on {shown}", check.constraint.name), false);
        }
        for index in &table.indexes {
            if let Some(predicate) = &index.declared.predicate {
                add(&predicate.expression, format!("index {}", index.name), true);
            }
        }
        let policies = self.catalog.rights.row_security.get(&table.id);
        for policy in policies.into_iter().flat_map(|security| &security.policies) {
            for text in [&policy.using, &policy.check].into_iter().flatten() {
                add(text, format!("policy {} on {shown}", policy.name), false);
            }
        }
        if let Some(view) = &table.view {
            let of = KeptUse { line: shown, view: Some(table.id), is_stored: view.materialized };
            texts.push(KeptText { text: &view.query, over: TextOver::Nothing, of });
        }
    }

    /// 0A000 for a text that would use other operators once it is kept: there the schemas that are searched are others.
    pub(super) fn require_same_operators(&self, text: &str, table: &Table) -> Result<(), PlanError> {
        if self.catalog.operators.is_empty() {
            return Ok(());
        }
        // What is wrong with it otherwise is said elsewhere.
        let Ok(here) = operators_used(self.scope(), text, TextOver::Row(table)) else { return Ok(()) };
        match operators_used(Scope::from(&self.catalog), &self.kept(text), TextOver::Row(table)) {
            Ok(kept) if kept == here => Ok(()),
            _ => Err(PlanError::unsupported("an operator that only search_path finds, in what is kept")
                .hint("Write OPERATOR(schema.symbol).")),
        }
    }

    /// The views among uses; 2BP01 for others, which nobody drops along.
    pub(super) fn views_among(
        &self,
        shown: &str,
        uses: Vec<KeptUse>,
        noun: &str,
    ) -> Result<Vec<RelationId>, PlanError> {
        let (views, others): (Vec<_>, Vec<_>) = uses.into_iter().partition(|found| found.view.is_some());
        if others.is_empty() {
            return Ok(views.into_iter().filter_map(|found| found.view).collect());
        }
        let lines: Vec<String> = others.iter().map(|found| format!("{} depends on {shown}", found.line)).collect();
        let verb = if noun == "operator" { "use" } else { "call" };
        Err(PlanError::new("2BP01", format!("cannot drop {shown} because other objects depend on it"))
            .detail(lines.join("\n"))
            .hint(format!("Drop these, or what they {verb} it in, before the {noun}.")))
    }
}

/// Whether a text has one of these operators, or may have it.
fn mentions_any(text: &str, symbols: &BTreeSet<&str>) -> bool {
    if symbols.iter().any(|symbol| text.contains(symbol)) || symbols.contains("<>") && text.contains("!=") {
        return true;
    }
    // These are compared by without a sign.
    let lower = text.to_lowercase();
    let has_form = |forms: &[&str]| forms.iter().any(|form| lower.contains(form));
    symbols.contains("=") && has_form(&["in", "case", "using", "natural", "nullif", "distinct"])
        || ["<", "<=", ">", ">="].iter().any(|symbol| symbols.contains(symbol)) && has_form(&["between"])
        || symbols.iter().any(|symbol| symbol.contains('~')) && has_form(&["like", "similar"])
}

/// Whether a text calls one of these names, or may.
fn calls_any(text: &str, names: &BTreeSet<String>) -> bool {
    // Most texts do not have the name at all.
    let lower = text.to_lowercase();
    if !names.iter().any(|name| lower.contains(&name.to_lowercase())) {
        return false;
    }
    let tokens = tokens_with_text(text);
    let visible: Vec<&Token> = tokens
        .iter()
        .map(|(token, _)| token)
        .filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF))
        .collect();
    // What cannot be read may call anything.
    visible.is_empty()
        || visible.windows(2).any(|pair| match pair {
            [Token::Word(word), Token::LParen] => {
                let name = if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() };
                names.contains(&name)
            }
            _ => false,
        })
}
