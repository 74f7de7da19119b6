//! Calls by the name of a created range or multirange, which make values of it.

use super::call::refuse_of_aggregates;
use super::scope::fold;
use super::{Resolver, Typed};
use crate::catalog::Qualifier;
use crate::error::PlanError;
use crate::scalar::cast::{CastContext, can_coerce};
use crate::scalar::registry;
use repr::{ColumnType, ScalarType};
use sqlparser::ast::{Function, Ident, ObjectName};

impl Resolver<'_> {
    /// The created range or multirange by whose name something is called.
    pub(super) fn range_called(&self, name: &ObjectName) -> Option<(ScalarType, String, Option<u32>)> {
        let idents: Vec<&Ident> = name.0.iter().map(|part| part.as_ident()).collect::<Option<_>>()?;
        let words: Vec<String> = idents.iter().map(|ident| fold(ident)).collect();
        let (last, before) = words.split_last()?;
        let before = Some(before).filter(|before| before.len() <= 2)?;
        let found = self.scope().range_named(Qualifier::of(before), last)?;
        Some((found.column_type().scalar, words.join("."), self.at(idents.last()?.span)))
    }

    /// A call that makes a value of such a type.
    pub(super) fn range_call(
        &mut self,
        function: &Function,
        scalar: &ScalarType,
        name: &str,
    ) -> Result<Typed, PlanError> {
        if function.over.is_some() {
            let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(PlanError::new("42809", message));
        }
        let written = self.written_arguments(function, name)?;
        refuse_of_aggregates(function, name, &written)?;
        let mut args = self.arguments(&written)?;
        if let Some(element) = scalar.range_element().filter(|element| element.composite().is_some()) {
            let row = |arg: &Typed| matches!(arg.scalar(), ScalarType::Record(_));
            let bounds = args.into_iter().map(|arg| if row(&arg) { self.coerce(arg, &element) } else { Ok(arg) });
            args = bounds.collect::<Result<_, _>>()?;
        }
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let found = registry::resolve_range(name, scalar, &types, written.variadic);
        match (found, args.as_slice()) {
            // A literal behind a type's name is one of that type.
            (_, [arg]) if arg.is_unknown() => {
                self.cast(arg.clone(), &ColumnType::nullable(scalar.clone()), CastContext::Explicit)
            }
            (Ok(found), _) => self.called(found, args),
            (Err(_), [arg]) if can_coerce(arg.scalar(), scalar, CastContext::Explicit) => {
                self.cast(arg.clone(), &ColumnType::nullable(scalar.clone()), CastContext::Explicit)
            }
            (Err(error), several) => Err(self.named_types(error, &several.iter().collect::<Vec<_>>())),
        }
    }
}
