//! ALTER TYPE … RENAME VALUE, in the texts that the catalog keeps: which of their strings is the label.
//!
//! A string is one if it is read as a value of the type. So each that could be is replaced by itself, and stays replaced if
//! the text then says what it said with all labels read by their new names. Never touches what is no string.

use super::catalog_expr::shown_by;
use super::view::relabelled_meaning;
use super::{Resolver, SessionInfo};
use crate::catalog::{Catalog, Table};
use crate::deparse::literal::quoted;
use crate::hir::HirExpr;
use crate::parse::tokens_with_text;
use repr::text::{TextCatalog, TextContext};
use repr::{Array, ColumnType, Datum, Id, ScalarType, ValueError};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// A label of an enumeration, and what it is called from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relabel {
    /// The type.
    pub of: Id,
    /// The label.
    pub old: String,
    /// Its new name.
    pub new: String,
}

impl Relabel {
    /// A query that the catalog keeps, with the label's new name.
    pub(super) fn query(&self, text: &str, catalog: &Catalog) -> String {
        self.replaced(text, |text, relabel| relabelled_meaning(text, catalog, relabel).ok())
    }

    /// An expression over a table's row that the catalog keeps; `to` is the type of the column that it is the default of.
    pub(super) fn expression(&self, text: &str, catalog: &Catalog, table: &Table, to: Option<&ColumnType>) -> String {
        self.replaced(text, |text, relabel| {
            let session = SessionInfo { relabel: relabel.cloned(), ..SessionInfo::default() };
            shown_by(&session, catalog, table, text, to).ok()
        })
    }

    fn replaced<M: PartialEq>(&self, text: &str, meaning: impl Fn(&str, Option<&Relabel>) -> Option<M>) -> String {
        let tokens = tokens_with_text(text);
        let mut texts: Vec<String> = tokens.iter().map(|(_, text)| (*text).to_owned()).collect();
        let mut wanted = None;
        for (place, (token, written)) in tokens.iter().enumerate() {
            let (Token::SingleQuotedString(string) | Token::EscapedStringLiteral(string)) = token else { continue };
            let Some(renamed) = self.string(string) else { continue };
            if wanted.is_none() {
                wanted = meaning(text, Some(self));
            }
            texts[place] = quoted(&renamed);
            let now = meaning(&texts.concat(), Some(self));
            if now.is_none() || now != wanted {
                (*written).clone_into(&mut texts[place]);
            }
        }
        texts.concat()
    }

    /// The string that says the same by the new name: a label, or an array of labels.
    fn string(&self, text: &str) -> Option<String> {
        if text == self.old {
            return Some(self.new.clone());
        }
        if !text.trim_start().starts_with(['{', '[']) || !text.contains(&self.old) {
            return None;
        }
        let context = TextContext { catalog: Some(Arc::new(AnyLabel)), ..TextContext::default() };
        let scalar = ScalarType::Enum(self.of).array();
        let Ok(Datum::Array(array)) = repr::text::parse(&scalar, -1, text, &context) else { return None };
        let is_old = |element: &&Datum| matches!(element, Datum::Enum { label, .. } if **label == *self.old);
        array.elements.iter().find(is_old)?;
        let renamed = |element: &Datum| match element {
            Datum::Enum { position, label } if **label == *self.old => {
                Datum::Enum { position: *position, label: Arc::from(self.new.as_str()) }
            }
            other => other.clone(),
        };
        let elements = array.elements.iter().map(renamed).collect();
        let array = Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements)));
        Some(repr::text::format(&array, &scalar, &context))
    }

    /// A literal that becomes a value of the type, or an array of them, read by the new name.
    fn literal(&self, value: &Datum, to: &ScalarType) -> Option<Datum> {
        let of = ScalarType::Enum(self.of);
        if *to != of && to.element().as_ref() != Some(&of) {
            return None;
        }
        match value {
            Datum::Text(text) => Some(Datum::Text(Arc::from(self.string(text)?))),
            Datum::Array(array) => {
                let element = |element: &Datum| match element {
                    Datum::Text(text) if **text == *self.old => Datum::Text(Arc::from(self.new.as_str())),
                    other => other.clone(),
                };
                let elements = array.elements.iter().map(element).collect();
                Some(Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements))))
            }
            _ => None,
        }
    }
}

impl Resolver<'_> {
    /// What is coerced to a type, read by a label's new name while one gets it.
    pub(super) fn relabelled(&self, expr: &HirExpr, to: &ScalarType) -> Option<HirExpr> {
        let HirExpr::Literal(value, column_type) = expr else { return None };
        Some(HirExpr::Literal(self.session.relabel.as_ref()?.literal(value, to)?, column_type.clone()))
    }
}

/// Every text is a label.
struct AnyLabel;

impl TextCatalog for AnyLabel {
    fn enum_name(&self, _: Id) -> Option<String> {
        None
    }

    fn enum_position(&self, _: Id, _: &str) -> Option<u32> {
        Some(0)
    }

    fn object_name(&self, _: &ScalarType, _: Id) -> Option<String> {
        None
    }

    fn object_oid(&self, _: &ScalarType, _: &str) -> Result<Option<Id>, ValueError> {
        Ok(None)
    }

    fn grant(&self, text: &str) -> Result<String, ValueError> {
        Ok(text.to_owned())
    }
}
