//! Values of domains: what they must pass, as an expression around them.
//!
//! A cast to a domain is a cast to the type below, then its conditions: NOT NULL first, then those of the domains below, and its
//! own, by their names. Rows that are written pass the same over their columns.

use super::build::{named, once};
use super::levels::{Step, rewrite_expr};
use super::scope::Clause;
use super::{Resolver, Typed};
use crate::catalog::{Catalog, Column, CreatedType, Domain, NamespaceId, Table};
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr};
use crate::scalar::domain::{CHECK, IS_THERE, NOT_NULL, VALUE};
use repr::{ColumnType, Datum, Id, RelationId, ScalarType};

/// A domain, and those that it is over, down to the one over no domain.
pub(crate) fn chain(catalog: &Catalog, domain: Id) -> impl Iterator<Item = (&CreatedType, &Domain)> {
    let find = |id: Id| {
        let found = catalog.types.get(&id)?;
        Some((&**found, found.domain()?))
    };
    std::iter::successors(find(domain), move |(_, domain)| find(domain.base.domain))
}

/// The domain of an array's elements, by what a column of the array has for its domain; none if it is of another.
pub(crate) fn of_elements(catalog: &Catalog, domain: Id) -> Option<Id> {
    let element = domain.checked_sub(1)?;
    (!catalog.types.contains_key(&domain) && chain(catalog, element).next().is_some()).then_some(element)
}

/// What conditions of a domain are over: a row of one column, which is called VALUE.
pub(crate) fn value_table(base: &ColumnType) -> Table {
    let column = Column::new(VALUE_COLUMN, ColumnType { nullable: true, ..base.clone() });
    Table { columns: vec![column], ..Table::new(RelationId(0), NamespaceId::PUBLIC, "") }
}

/// As the word is folded.
const VALUE_COLUMN: &str = "value";

impl<'a> Resolver<'a> {
    /// A value of the type below as one of the domain.
    pub(super) fn domain_value(&mut self, value: Typed, domain: Id) -> Result<Typed, PlanError> {
        let column_type = ColumnType { domain, ..value.column_type.clone() };
        let (stands, operand) = named(value);
        let mut body = stands.expr.clone();
        // How it is shown says the domain alone.
        if !self.as_shown {
            body = match of_elements(self.catalog, domain) {
                Some(element) => self.elements_tested(body, &stands, element)?,
                None => self.domain_conditions(body, &stands, domain)?,
            };
        }
        let result = stands.scalar().clone();
        let args = vec![body, Typed::literal(Datum::Oid(domain), ScalarType::Oid).expr];
        let body = HirExpr::Call { function: &VALUE, args, result };
        Ok(Typed::of(once(operand, body), column_type))
    }

    /// An array whose elements, NULL or not, pass a domain.
    fn elements_tested(&mut self, array: HirExpr, stands: &Typed, domain: Id) -> Result<HirExpr, PlanError> {
        let scalar = stands.scalar().unarrayed().clone();
        let element = Typed::of(HirExpr::Operand(scalar.clone()), ColumnType::nullable(scalar));
        let body = Box::new(self.domain_value(element, domain)?.expr);
        Ok(HirExpr::Tested { operand: Box::new(array), body })
    }

    /// A value that passes the domains of what it is made of, at any depth: what else it is tested for is of the whole of it.
    pub(super) fn tested(&mut self, value: Typed) -> Result<Typed, PlanError> {
        if self.as_shown || !value.scalar().holds_domains() {
            return Ok(value);
        }
        let mut tests = Vec::new();
        if let ScalarType::Record(record) = value.scalar().unarrayed().clone() {
            let whole =
                Typed::new(HirExpr::Operand(value.scalar().unarrayed().clone()), ScalarType::Record(record.clone()));
            for place in 0..record.len() {
                let own = record.column_type(place);
                if !own.is_constrained() {
                    continue;
                }
                let mut field = self.field_at(whole.clone(), place)?;
                if own.domain != 0 {
                    field = self.domain_value(field, own.domain)?;
                }
                tests.push(self.tested(field)?.expr);
            }
        }
        // What is not there has no fields.
        let none = ScalarType::Record(Vec::new().into());
        let part = HirExpr::Operand(value.scalar().unarrayed().clone());
        let is_there = HirExpr::Call { function: &IS_THERE, args: vec![part], result: ScalarType::Bool };
        let body = Box::new(HirExpr::Case {
            branches: vec![(is_there, HirExpr::Record(tests, none.clone()))],
            otherwise: Box::new(HirExpr::Literal(Datum::Null, ColumnType::nullable(none.clone()))),
            result: none,
        });
        let Typed { expr, column_type, collated } = value;
        Ok(Typed { expr: HirExpr::Tested { operand: Box::new(expr), body }, column_type, collated })
    }

    fn domain_conditions(&mut self, mut body: HirExpr, stands: &Typed, domain: Id) -> Result<HirExpr, PlanError> {
        if self.domains.contains(&domain) {
            return Err(PlanError::new("54001", "stack depth limit exceeded")
                .hint("A condition of the domain casts to the domain itself."));
        }
        let result = stands.scalar().clone();
        let literal = |datum: Datum, scalar: ScalarType| Typed::literal(datum, scalar).expr;
        let catalog = self.catalog;
        let levels: Vec<(&CreatedType, &Domain)> = chain(catalog, domain).collect();
        if levels.iter().any(|(_, level)| level.not_null) {
            let args = vec![body, literal(Datum::Oid(domain), ScalarType::Oid)];
            body = HirExpr::Call { function: &NOT_NULL, args, result: result.clone() };
        }
        self.domains.push(domain);
        // The lowest may be over an array of another domain.
        if let Some(element) = levels.last().and_then(|(_, level)| of_elements(catalog, level.base.domain)) {
            body = self.elements_tested(body, stands, element)?;
        }
        for (_, level) in levels.iter().rev() {
            let table = value_table(&level.base);
            let mut checks: Vec<_> = level.checks.iter().collect();
            checks.sort_by(|one, other| one.constraint.name.cmp(&other.constraint.name));
            for check in checks {
                let frame = self.row_frame(&table, Clause::CheckConstraint);
                let mut condition = self.kept_expression(&check.expression, frame, |resolver, typed| {
                    resolver.condition(typed, "CHECK", None)
                })?;
                rewrite_expr(&mut condition, 0, &mut |expr, depth| match expr {
                    HirExpr::Column(HirColumn::Column { level, index: 0 }) if *level == depth => {
                        Ok(Step::Replace(stands.expr.clone()))
                    }
                    _ => Ok(Step::Descend),
                })?;
                let name = Datum::Text(check.constraint.name.as_str().into());
                let args = vec![
                    body,
                    condition,
                    literal(Datum::Oid(domain), ScalarType::Oid),
                    literal(name, ScalarType::Text),
                ];
                body = HirExpr::Call { function: &CHECK, args, result: result.clone() };
            }
        }
        self.domains.pop();
        Ok(body)
    }

    /// What a column of a domain gets where nothing else is said.
    pub(super) fn domain_default(&self, domain: Id) -> Option<&'a str> {
        self.catalog.types.get(&domain)?.domain()?.default.as_deref()
    }

    /// What the column of a row must pass for its domain, to be evaluated for its errors.
    pub(super) fn domain_test(&mut self, column: usize, column_type: &ColumnType) -> Result<HirExpr, PlanError> {
        let value = Typed::column(column, ColumnType { nullable: true, ..column_type.clone() });
        Ok(self.domain_value(value, column_type.domain)?.expr)
    }
}

/// What a value must pass for a condition of a domain: over a row of that value alone.
///
/// # Errors
/// Those of the expression.
pub(crate) fn domain_condition(catalog: &Catalog, domain: Id, text: &str) -> Result<HirExpr, PlanError> {
    let session = super::SessionInfo::default();
    let mut resolver = Resolver::new(catalog, &session, "", &[]);
    let base = chain(catalog, domain).next().map(|(_, domain)| domain.base.clone());
    let table = value_table(&base.unwrap_or_else(|| ColumnType::nullable(ScalarType::Text)));
    let frame = resolver.row_frame(&table, Clause::CheckConstraint);
    resolver.kept_expression(text, frame, |resolver, typed| resolver.condition(typed, "CHECK", None))
}

/// What the value of a column must pass for all of its domain: over a row of that value alone.
///
/// # Errors
/// Those of the domain's expressions.
pub(crate) fn domain_test(catalog: &Catalog, column_type: &ColumnType) -> Result<HirExpr, PlanError> {
    let session = super::SessionInfo::default();
    Resolver::new(catalog, &session, "", &[]).domain_test(0, column_type)
}

/// What a value that is read, and not cast, must pass for the domains of the fields in it: over a row of that value alone.
///
/// # Errors
/// Those of the domains' expressions.
pub(crate) fn field_tests(catalog: &Catalog, column_type: &ColumnType) -> Result<HirExpr, PlanError> {
    let session = super::SessionInfo::default();
    let value = Typed::column(0, ColumnType { nullable: true, ..column_type.clone() });
    Ok(Resolver::new(catalog, &session, "", &[]).tested(value)?.expr)
}
