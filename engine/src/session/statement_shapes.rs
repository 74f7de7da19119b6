//! Statements without a name that are known by their shape: see `templates` and `planner::parse::template`.
//!
//! ```text
//! text ─▶ shape ─▶ first time     parsed and planned; the shape is seen
//!                  second time    the same; and planned with parameters, to see whether that is the same statement
//!                  from then on   its literals are its parameters
//! ```
//!
//! A statement of the extended protocol whose text has parameters is known by its text, with the types that were given.
//!
//! Whatever does not go well here (a literal that is none of its type, a changed catalog) goes the ordinary way, and fails there if it
//! must, so that errors are always the statement's own.

use crate::response::TransactionStatus;
use crate::session::Session;
use crate::session::plan::{self, CachedPlan};
use crate::session::plan::{Automatic, Prepared, is_lookup};
use crate::templates::KnownShape;
use planner::Planned;
use planner::parse::cut_names;
use planner::parse::template::{Literal, TEXT_BYTES_MAX, Template, template};
use repr::{Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// What is known of a text.
pub enum KnownText {
    /// It is this statement with these parameters in the place of literals.
    Statement(Arc<Prepared>, Arc<[Datum]>),
    /// It is this statement, parameters and all.
    Text(Arc<Prepared>),
    /// Once it is prepared, `Session::learn` wants to hear of it.
    Unlearned(Unlearned),
    /// Nothing.
    Nothing,
}

/// A text that came with other literals before.
pub struct Unlearned {
    template: Option<Template>,
    shape: String,
    kept: bool,
}

/// Who sends a text.
#[derive(Clone, Copy)]
pub enum Sent<'a> {
    /// The simple protocol, to run it.
    ToRun,
    /// The extended one, to keep it as the unnamed statement: the types that it gives for parameters.
    ToKeep(&'a [u32]),
}

impl Session {
    /// Whether a query string is a statement that is known.
    pub fn known(&self, text: &str, sent: Sent<'_>) -> KnownText {
        let own_schema =
            self.transaction.active.as_ref().is_some_and(|active| active.transaction.overlay().changes_schema());
        if own_schema || !self.conforms(text) || self.temporary().in_use() || self.status() == TransactionStatus::Failed
        {
            return KnownText::Nothing;
        }
        let kept = matches!(sent, Sent::ToKeep(_));
        let (template, shape) = match (template(text), sent) {
            (Some(template), Sent::ToRun | Sent::ToKeep([])) => {
                let shape = shape(&template, kept);
                (Some(template), shape)
            }
            (None, Sent::ToKeep(types)) if has_parameters(text) => (None, text_shape(text, types)),
            (Some(_) | None, _) => return KnownText::Nothing,
        };
        match self.templates.find(&shape) {
            Some(KnownShape::Ready(prepared)) if prepared.plan.load().is_for(&self.seen()) => {
                let Some(template) = template else { return KnownText::Text(prepared) };
                match self.parameters(&prepared, &template.literals) {
                    Ok(parameters) => KnownText::Statement(prepared, parameters),
                    Err(_it_fails_as_itself) => KnownText::Nothing,
                }
            }
            // What is said of cut names is said each time.
            Some(KnownShape::Seen | KnownShape::Ready(_)) if template.is_none() && !cut_names(text).is_empty() => {
                KnownText::Nothing
            }
            Some(KnownShape::Seen | KnownShape::Ready(_)) => KnownText::Unlearned(Unlearned { template, shape, kept }),
            Some(KnownShape::Refused) | None => KnownText::Nothing,
        }
    }

    fn parameters(&self, prepared: &Prepared, literals: &[Literal]) -> Result<Arc<[Datum]>, SqlError> {
        let context = self.text_context();
        let parameter = |(literal, scalar): (&Literal, &ScalarType)| match literal {
            Literal::Int4(value) => Ok(Datum::Int4(*value)),
            Literal::Int8(value) => Ok(Datum::Int8(*value)),
            Literal::Text(text) => Ok(repr::text::parse(scalar, -1, text, &context)?),
        };
        literals.iter().zip(&prepared.param_types).map(parameter).collect()
    }

    /// Finds out whether a statement, which was prepared as it is, may be known by its shape.
    pub fn learn(&self, unlearned: &Unlearned, prepared: &Arc<Prepared>) {
        let ready = match &unlearned.template {
            Some(template) => self.lifted(template, prepared).map(|mut lifted| {
                lifted.fixed_result = unlearned.kept;
                Arc::new(lifted)
            }),
            None => {
                let is_planned = matches!(prepared.plan.load().planned, Planned::Query(_) | Planned::Write(_));
                is_planned.then(|| prepared.clone())
            }
        };
        let known = ready.map_or(KnownShape::Refused, KnownShape::Ready);
        self.templates.keep(&unlearned.shape, known);
    }

    /// The statement with parameters, if it is the same.
    fn lifted(&self, template: &Template, prepared: &Prepared) -> Option<Prepared> {
        let types: Vec<_> = template.literals.iter().map(integer_type).collect();
        let parsed = self.parse(&template.text).ok()?;
        let [parsed] = <[_; 1]>::try_from(parsed).ok()?;
        let lifted = plan::prepare(parsed, &self.seen(), &types).ok()?;
        let mut typed = lifted.param_types.iter().zip(&types);
        let as_given = lifted.param_types.len() == types.len()
            && typed.all(|(found, given)| given.as_ref().is_none_or(|given| given == found));
        let (before, after) = (prepared.plan.load_full(), lifted.plan.load_full());
        let same = as_given
            && prepared.columns == lifted.columns
            && before.made_for == after.made_for
            && before.views.list == after.views.list
            && self.go_one_way((prepared, &before), (&lifted, &after));
        same.then_some(lifted)
    }

    /// Whether both find their rows in the same way: by keys, from a view of the same shape, or by computing them.
    fn go_one_way(&self, before: (&Prepared, &CachedPlan), after: (&Prepared, &CachedPlan)) -> bool {
        match (&before.1.planned, &after.1.planned) {
            (Planned::Query(one), Planned::Query(other)) => {
                if is_lookup(&one.plan) || is_lookup(&other.plan) {
                    return is_lookup(&one.plan) && is_lookup(&other.plan);
                }
                match (self.automatic(before.0, before.1), self.automatic(after.0, after.1)) {
                    (Ok(Automatic::ByKey(one)), Ok(Automatic::ByKey(other))) => one.identity() == other.identity(),
                    (Ok(Automatic::Never(_)), Ok(Automatic::Never(_))) => true,
                    _ => false,
                }
            }
            (Planned::Write(one), Planned::Write(other)) => {
                is_lookup(&one.source().plan) == is_lookup(&other.source().plan)
            }
            _ => false,
        }
    }
}

fn integer_type(literal: &Literal) -> Option<ScalarType> {
    match literal {
        Literal::Int4(_) => Some(ScalarType::Int4),
        Literal::Int8(_) => Some(ScalarType::Int8),
        Literal::Text(_) => None,
    }
}

/// Whether a text may have parameters, and is short enough to be kept.
fn has_parameters(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && text.contains('$')
}

/// A text with the types that are given to its parameters.
fn text_shape(text: &str, types: &[u32]) -> String {
    let mut shape = String::with_capacity(text.len() + 8 * types.len() + 2);
    shape.extend([text, "\0p"]);
    types.iter().for_each(|oid| shape.extend([" ", &oid.to_string()]));
    shape
}

/// The text with what its literals are.
fn shape(template: &Template, kept: bool) -> String {
    let kind = |literal: &Literal| match literal {
        Literal::Int4(_) => 'i',
        Literal::Int8(_) => 'l',
        Literal::Text(_) => 't',
    };
    let kinds = template.literals.iter().map(kind);
    template.text.chars().chain(['\0']).chain(kinds).chain(kept.then_some('k')).collect()
}
