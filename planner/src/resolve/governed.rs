//! Rows that are there: not expired, and of use for the purpose that is declared. Below every query, as policies are.

use super::scope::{Clause, Frame};
use super::statement::Resolved;
use super::{PolicyUse, Resolver, Typed};
use crate::catalog::{Class, Column, Property, RetentionEnd, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, RowChecksHir, RowTermHir, WriteHir};
use crate::ownership::{Anonymity, anonymity, quote_identifier};
use crate::parse::Statement;
use crate::parse::request::Purge;
use crate::row_term::RowTerm;
use repr::{ColumnIndex, ColumnType, ScalarType};
use std::sync::Arc;

impl Resolver<'_> {
    /// The rows of a table that have not expired, whoever asks.
    pub(super) fn unexpired(&mut self, hir: Hir, table: &Table) -> Result<Hir, PlanError> {
        let Some(index) = table.property(Property::Expires).filter(|_| !self.with_expired) else { return Ok(hir) };
        let column = &table.columns[index];
        let text = format!("({} IS NULL OR {} > {})", quoted(column), quoted(column), now_as(column));
        let condition = self.row_condition(&text, table)?;
        Ok(hir.filter(vec![condition]))
    }

    /// What of a table may be used: to a processor, what allows the purpose that it declared and does not object.
    pub(super) fn for_purpose(&mut self, hir: Hir, table: &Table) -> Result<Hir, PlanError> {
        let Some(text) = self.purpose_condition(table) else { return Ok(hir) };
        self.bound = true;
        self.needs.hide_rows();
        let condition = self.row_condition(&text, table)?;
        Ok(hir.filter(vec![condition]))
    }

    /// What rows must meet for whoever asks: that they may be used for the purpose of the session, if it is bound to one; and that
    /// their use is not restricted.
    pub(super) fn purpose_condition(&mut self, table: &Table) -> Option<String> {
        match (self.declared_condition(table), self.restriction_condition(table)) {
            (Some(one), Some(other)) => Some(format!("({one}) AND {other}")),
            (one, other) => one.or(other),
        }
    }

    /// To a controller alone what is restricted is there: it may be stored, and nothing more (Art. 18(2)).
    fn restriction_condition(&mut self, table: &Table) -> Option<String> {
        let column = table.property(Property::Restricted).filter(|_| self.session.policies != PolicyUse::Ignore)?;
        self.of_role = true;
        let is_controller = self.catalog.is_controller(self.session.path.actor().role);
        (!is_controller).then(|| format!("{} IS NOT TRUE", quoted(&table.columns[column])))
    }

    fn declared_condition(&mut self, table: &Table) -> Option<String> {
        if self.session.policies == PolicyUse::Ignore || !table.says_purposes() {
            return None;
        }
        // What one role sees for one purpose is no plan for others.
        self.of_role = true;
        let (actor, home) = (self.session.path.actor(), self.session.path.home());
        if !self.catalog.binds_to_purpose(actor.role, table, home) {
            return None;
        }
        let may = |purpose: &&str| self.catalog.may_use_for(actor.role, purpose, home) == Some(true);
        let Some(purpose) = actor.purpose.as_deref().filter(may) else { return Some("false".to_owned()) };
        let by_consent = self.catalog.rights.purposes.get(purpose).is_some_and(|purpose| purpose.by_consent);
        let purpose = format!("'{}'", purpose.replace('\'', "''"));
        let holds = |property| {
            let column = &table.columns[table.property(property)?];
            let list = match &column.column_type.scalar {
                ScalarType::Array(_) => quoted(column),
                _ => format!("regexp_split_to_array(btrim({}), '\\s*,\\s*')", quoted(column)),
            };
            Some(format!("{purpose} = ANY ({list})"))
        };
        let allows = holds(Property::Purposes).unwrap_or_else(|| "true".to_owned());
        let objects = holds(Property::Objections).unwrap_or_else(|| "false".to_owned());
        let consents = if by_consent { self.consent_condition(table, &purpose) } else { "true".to_owned() };
        Some(format!("({allows}) AND ({objects}) IS NOT TRUE AND {consents}"))
    }

    pub(super) fn row_condition(&mut self, text: &str, table: &Table) -> Result<HirExpr, PlanError> {
        self.row_condition_at(text, table, None)
    }

    /// Of a row whose columns stand at these places, or at their own.
    pub(super) fn row_condition_at(
        &mut self,
        text: &str,
        table: &Table,
        positions: Option<&[usize]>,
    ) -> Result<HirExpr, PlanError> {
        let mut frame = self.row_frame(table, Clause::Policy);
        let bound = frame.tables.iter_mut().flat_map(|table| &mut table.columns);
        for column in frame.columns.iter_mut().chain(bound) {
            column.index = positions.map_or(column.index, |positions| positions[column.index]);
        }
        self.kept_expression(text, frame, |resolver, typed| resolver.condition(typed, "POLICY", None))
    }

    /// That a row may be kept where the server is; asked of every row that is made.
    pub(super) fn region_term(&mut self, table: &Table) -> Result<Option<RowTermHir>, PlanError> {
        let Some(index) = table.property(Property::Region) else { return Ok(None) };
        let (column, allowed) = (quoted(&table.columns[index]), "lower(btrim(current_setting('dogwood.regions')))");
        let text = format!(
            r"{column} IS NULL OR {allowed} = '' OR lower(btrim({column})) = ANY (regexp_split_to_array({allowed}, '\s*,\s*'))"
        );
        Ok(Some(RowTermHir { term: RowTerm::Region, expr: self.row_condition(&text, table)? }))
    }

    /// That a row has not expired when it is inserted.
    pub(super) fn expiry_term(&mut self, table: &Table) -> Result<Option<RowTermHir>, PlanError> {
        let Some(index) = table.property(Property::Expires) else { return Ok(None) };
        let column = &table.columns[index];
        let is_later = format!("{} IS NULL OR {} > {}", quoted(column), quoted(column), now_as(column));
        let text = format!("{is_later} OR current_setting('dogwood.restoring') = 'on'");
        Ok(Some(RowTermHir { term: RowTerm::Expiry, expr: self.row_condition(&text, table)? }))
    }

    /// A row that does not say until when it is there is kept as long as its table says.
    pub(super) fn kept_until(&mut self, table: &Table, index: ColumnIndex, value: Typed) -> Result<Typed, PlanError> {
        let Some((column, retention)) = table.filled_expiry().filter(|(column, _)| *column == index) else {
            return Ok(value);
        };
        if self.with_expired {
            return Ok(value);
        }
        let column = &table.columns[column];
        let frame = Frame::default().clause(Clause::ColumnDefault);
        let end = self.kept_expression(&retention.end(column), frame, |resolver, typed| {
            resolver.assign(typed, &column.column_type, &column.name, None)
        })?;
        let filled = HirExpr::Coalesce(vec![value.expr, end.expr], column.column_type.scalar.clone());
        Ok(Typed::of(filled, ColumnType { nullable: false, ..column.column_type.clone() }))
    }

    /// GDPR PURGE: what has expired is deleted, as DELETE would, or anonymized, as erasures of its owners would.
    pub(super) fn purge(&mut self, purge: &Purge) -> Result<Resolved, PlanError> {
        let name = &purge.table;
        let Some(Class::Relation(table)) = self.scope().class((None, name.schema.as_deref()), &name.name) else {
            let message = format!("relation \"{}\" does not exist", name.name);
            return Err(PlanError::new("42P01", message).at(Some(name.position)));
        };
        let table = Arc::clone(table);
        let Some(index) = table.property(Property::Expires) else {
            let message = format!("rows of table \"{}\" do not expire", table.name);
            let hint = "Say by when they do: ALTER TABLE … ALTER COLUMN … SET EXPIRES.";
            return Err(PlanError::new("55000", message).hint(hint).at(Some(name.position)));
        };
        let declared = table.retention.as_ref().and_then(|retention| retention.basis.as_deref());
        if let Some(basis) = purge.basis.as_ref().filter(|basis| declared != Some(&*basis.name)) {
            let message = format!("rows of table \"{}\" are not kept for \"{}\"", table.name, basis.name);
            return Err(PlanError::new("22023", message).at(Some(basis.position)));
        }
        let column = &table.columns[index];
        let spelled = self.scope().spelled_table(&table);
        let mut condition = format!("{} <= {}", quoted(column), now_as(column));
        for hold in &table.holds {
            // They go when the hold ends.
            condition += &hold
                .expression
                .as_ref()
                .map_or_else(|| " AND false".to_owned(), |text| format!(" AND ({text}) IS NOT TRUE"));
        }
        let write = match table.ends_by() {
            RetentionEnd::Delete | RetentionEnd::HandOver => {
                // None of them would stay.
                let which = if purge.without_owner { " AND false" } else { "" };
                format!("DELETE FROM {spelled} WHERE {condition}{which}")
            }
            RetentionEnd::Anonymize => {
                let Anonymity { blanked, kept } = anonymity(self.catalog, &table)?;
                // An erasure may have taken the owner that it would keep.
                let owned = kept.iter().map(|columns| {
                    let has = columns.iter().map(|column| format!("{} IS NOT NULL", quoted(&table.columns[*column])));
                    has.collect::<Vec<_>>().join(" AND ")
                });
                let owned = owned.collect::<Vec<_>>().join(" OR ");
                let owned = if owned.is_empty() { "true".to_owned() } else { owned };
                if purge.without_owner {
                    format!("DELETE FROM {spelled} WHERE {condition} AND NOT ({owned})")
                } else {
                    let blanked = blanked.into_iter().chain([index]);
                    let set: Vec<String> =
                        blanked.map(|column| format!("{} = NULL", quoted(&table.columns[column]))).collect();
                    format!("UPDATE {spelled} SET {} WHERE {condition} AND ({owned})", set.join(", "))
                }
            }
        };
        let parsed = crate::parse::parse(&write)?;
        let Some(Statement::Sql(write)) = parsed.first().map(|found| &found.statement) else {
            return Err(PlanError::new("XX000", "a purge is read as something else"));
        };
        self.with_expired = true;
        let mut resolved = self.sql(write)?;
        if let Resolved::Write(write) = &mut resolved
            && let WriteHir::Update(update) = &mut **write
        {
            // As an erasure, it overrides every other constraint.
            let generated = std::mem::take(&mut update.checks.generated);
            update.checks = RowChecksHir { generated, ..RowChecksHir::default() };
        }
        Ok(resolved)
    }
}

/// This moment, as columns of its type have it: those without a zone are in UTC, whatever the session's zone.
fn now_as(column: &Column) -> &'static str {
    match &column.column_type.scalar {
        ScalarType::Timestamp => "now() AT TIME ZONE 'UTC'",
        ScalarType::Date => "(now() AT TIME ZONE 'UTC')::date",
        _ => "now()",
    }
}

fn quoted(column: &Column) -> String {
    quote_identifier(&column.name)
}
