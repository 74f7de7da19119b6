//! Policies below everything: the rows of a table that are there for the role, and the rows that it may make.
//!
//! Applied where a table is named, whatever names it: a query, a view, a policy's own subquery, a write's target. They bind the
//! role that runs the statement, below views too. What a plan has of them holds for that role alone.

use super::scope::Clause;
use super::{PolicyUse, Resolver, SessionInfo, Typed};
use crate::catalog::{Catalog, Policy, PolicyCommand, RoleId, RowSecurity, SearchPath, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirQuery, RowChecksHir, RowTermHir};
use crate::parse::parse_expression;
use crate::resolve::levels::has_subquery;
use crate::row_term::RowTerm;
use repr::{Datum, ScalarType};
use std::collections::BTreeSet;

/// Rows that are there, or rows that are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowSide {
    Using,
    Check,
}

impl Policy {
    fn is_for(&self, command: PolicyCommand) -> bool {
        self.command == PolicyCommand::All || self.command == command
    }

    fn binds(&self, roles: &BTreeSet<RoleId>) -> bool {
        self.roles.iter().any(|role| role.is_none_or(|role| roles.contains(&role)))
    }

    /// Rows that are made must be such as are there, if nothing else is said.
    fn text(&self, side: RowSide) -> Option<&str> {
        match side {
            RowSide::Using => self.using.as_deref(),
            RowSide::Check => self.check.as_deref().or(self.using.as_deref()),
        }
    }
}

/// A condition, and the restrictive policy that it is of.
struct Condition {
    policy: Option<String>,
    expr: HirExpr,
}

impl Resolver<'_> {
    /// The policies of a table that bind the role. From then on the plan is that role's alone.
    fn policies_of(&mut self, table: &Table) -> Option<RowSecurity> {
        let path = &self.session.path;
        if self.session.policies == PolicyUse::Ignore || !self.catalog.rights.row_security.contains_key(&table.id) {
            return None;
        }
        // What holds for the owner alone is no plan for others either.
        self.of_role = true;
        let binding = self.catalog.binding_policies(path.actor().role, table.id, path.home()).cloned();
        if binding.is_some() {
            self.needs.bind(&table.name);
        }
        binding
    }

    /// Whether policies bind the role below a relation.
    pub(super) fn is_bound_below(&mut self, table: &Table) -> bool {
        if self.is_subject() {
            return true;
        }
        let is_free = self.catalog.rights.row_security.is_empty() && !self.catalog.is_governed_below(table.id);
        if self.session.policies == PolicyUse::Ignore || is_free {
            return false;
        }
        self.of_role = true;
        let path = &self.session.path;
        self.catalog.is_bound_below(path.actor().role, table.id, path.home())
    }

    /// The rows of a table that are there for the role when it does these.
    pub(super) fn under_policies(
        &mut self,
        mut hir: Hir,
        table: &Table,
        commands: &[PolicyCommand],
    ) -> Result<Hir, PlanError> {
        let Some(security) = self.policies_of(table) else { return Ok(hir) };
        self.bound = true;
        for command in commands {
            let conditions = self.conditions(&security, table, (*command, RowSide::Using), None)?;
            hir = hir.filter(conditions.into_iter().map(|condition| condition.expr).collect());
        }
        Ok(hir)
    }

    /// What rows must meet: one permissive policy, and each restrictive one. Their columns stand at these places, or at their own.
    fn conditions(
        &mut self,
        security: &RowSecurity,
        table: &Table,
        (command, side): (PolicyCommand, RowSide),
        positions: Option<&[usize]>,
    ) -> Result<Vec<Condition>, PlanError> {
        let path = &self.session.path;
        let roles = self.catalog.counted(path.actor().role, path.home());
        let binding: Vec<&Policy> =
            security.policies.iter().filter(|policy| policy.is_for(command) && policy.binds(&roles)).collect();
        let mut permissive = Vec::new();
        let mut conditions = Vec::new();
        for policy in binding {
            let Some(text) = policy.text(side) else {
                // A policy that says nothing of such rows lets them all be.
                permissive.extend(policy.permissive.then(super::build::true_literal));
                continue;
            };
            let expr = self.policy_expression(text, table, positions)?;
            match policy.permissive {
                true => permissive.push(expr),
                false => conditions.push(Condition { policy: Some(policy.name.clone()), expr }),
            }
        }
        let expr = match permissive.len() {
            0 => Typed::literal(Datum::Bool(false), ScalarType::Bool).expr,
            1 => permissive.swap_remove(0),
            _ => HirExpr::Or(permissive),
        };
        conditions.insert(0, Condition { policy: None, expr });
        Ok(conditions)
    }

    /// A policy's condition over a row whose columns stand at these places. What it reads of other tables is read as the role.
    fn policy_expression(
        &mut self,
        text: &str,
        table: &Table,
        positions: Option<&[usize]>,
    ) -> Result<HirExpr, PlanError> {
        if self.under_policies_of.contains(&table.id) {
            let message = format!("infinite recursion detected in policy for relation \"{}\"", table.name);
            return Err(PlanError::new("42P17", message));
        }
        let session = SessionInfo {
            path: SearchPath::kept().as_of(self.session.path.actor().clone()).at_home(self.session.path.home()),
            views: self.session.views,
            policies: self.session.policies,
            relabel: self.session.relabel.clone(),
        };
        let parsed = parse_expression(text)?;
        let mut inner = Resolver::new(self.catalog, &session, "", &[]);
        inner.ctes.next = self.ctes.next;
        inner.nesting.depth = self.nesting.depth + 1;
        inner.under_policies_of.clone_from(&self.under_policies_of);
        inner.under_policies_of.push(table.id);
        let mut binding = inner.table_binding(table, &table.name, 0);
        for column in &mut binding.columns {
            // That the policy reads a column of its own table takes no right to.
            column.origin = None;
            column.index = positions.map_or(column.index, |positions| positions[column.index]);
        }
        let frame = super::scope::Frame {
            columns: binding.columns.clone(),
            tables: vec![binding],
            clause: Clause::Policy,
            ..super::scope::Frame::default()
        };
        let (expr, _) = inner.with_frame(frame, |resolver| {
            let typed = resolver.expr(&parsed)?;
            resolver.condition(typed, "POLICY", None)
        })?;
        inner.refuse_parameters()?;
        self.ctes.next = inner.ctes.next;
        self.views.expanded += inner.views.expanded;
        self.views.maintained.append(&mut inner.views.maintained);
        self.needs.add_all(inner.needs);
        self.of_role = true;
        Ok(expr)
    }

    /// What rows must meet that INSERT or UPDATE makes: without other tables it is asked row by row, else of the source.
    /// `positions`: where the new row's columns stand in the source.
    pub(super) fn check_policies(
        &mut self,
        table: &Table,
        command: PolicyCommand,
        reads: bool,
        (checks, source, positions): (&mut RowChecksHir, &mut HirQuery, &[usize]),
    ) -> Result<(), PlanError> {
        if let Some(text) = self.purpose_condition(table) {
            let expr = self.row_condition(&text, table)?;
            if has_subquery(&expr) {
                let of_source = self.row_condition_at(&text, table, Some(positions))?;
                self.ask_source(table, RowTerm::Purpose, of_source, source)?;
            } else {
                checks.terms.push(RowTermHir { term: RowTerm::Purpose, expr });
            }
        }
        let Some(security) = self.policies_of(table) else { return Ok(()) };
        let sides =
            [(command, RowSide::Check)].into_iter().chain(reads.then_some((PolicyCommand::Select, RowSide::Using)));
        let (mut by_row, mut of_source) = (Vec::new(), Vec::new());
        for side in sides {
            by_row.extend(self.conditions(&security, table, side, None)?);
            of_source.extend(self.conditions(&security, table, side, Some(positions))?);
        }
        for (condition, of_source) in by_row.into_iter().zip(of_source) {
            if !has_subquery(&condition.expr) {
                checks.terms.push(RowTermHir { term: RowTerm::Policy(condition.policy), expr: condition.expr });
                continue;
            }
            self.ask_source(table, RowTerm::Policy(condition.policy), of_source.expr, source)?;
        }
        Ok(())
    }

    /// What reads other tables is asked of the source of new rows.
    fn ask_source(
        &mut self,
        table: &Table,
        term: RowTerm,
        of_source: HirExpr,
        source: &mut HirQuery,
    ) -> Result<(), PlanError> {
        if table.columns.iter().any(|column| matches!(column.default, Some(crate::catalog::DefaultValue::Generated(_))))
        {
            return Err(PlanError::unsupported("a policy that reads other tables on a table with generated columns"));
        }
        let message = Typed::literal(Datum::text(&term.broken(table).message), ScalarType::Text);
        let asked = self.call_named("POLICY HOLDS", vec![Typed::boolean(of_source), message], None)?;
        let relation = std::mem::replace(&mut source.relation, Hir::unit());
        source.relation = relation.filter(vec![asked.expr]);
        Ok(())
    }

    /// What a statement asks of rows itself, so that nothing it says of one that a policy keeps from it, an error least of all,
    /// tells that the row is there: what may say something is asked of what is left of the rows.
    pub(super) fn behind_policies(&mut self, predicates: Vec<HirExpr>) -> Result<Vec<HirExpr>, PlanError> {
        if !self.bound {
            return Ok(predicates);
        }
        let behind = |predicate: HirExpr| match is_silent(&predicate) {
            true => Ok(predicate),
            false => Ok(self.call_named("BEHIND POLICIES", vec![Typed::boolean(predicate)], None)?.expr),
        };
        predicates.into_iter().map(behind).collect()
    }

    /// 0A000 where policies bind the role and what is written cannot be asked of them.
    pub(super) fn refuse_policies(&mut self, table: &Table, what: &str) -> Result<(), PlanError> {
        if self.policies_of(table).is_none() && self.purpose_condition(table).is_none() {
            return Ok(());
        }
        Err(PlanError::new("0A000", format!("{what} not supported with row-level security"))
            .hint("Use INSERT, UPDATE and DELETE statements instead."))
    }
}

/// Whether an expression says nothing of a row but its value.
fn is_silent(expr: &HirExpr) -> bool {
    const SILENT: [&str; 22] = [
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "NOT",
        "IS NULL",
        "IS NOT NULL",
        "IS TRUE",
        "IS NOT TRUE",
        "IS FALSE",
        "IS NOT FALSE",
        "IS UNKNOWN",
        "IS NOT UNKNOWN",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
        "BETWEEN",
        "starts_with",
        "length",
        "lower",
        "upper",
    ];
    match expr {
        HirExpr::Column(crate::hir::HirColumn::Column { .. }) | HirExpr::Literal(..) | HirExpr::Param(..) => true,
        HirExpr::And(items) | HirExpr::Or(items) | HirExpr::Coalesce(items, _) | HirExpr::Array(items, _) => {
            items.iter().all(is_silent)
        }
        HirExpr::Call { function, args, .. } => {
            let is_constant = !super::levels::reads_columns(expr);
            is_constant || SILENT.contains(&function.name) && args.iter().all(is_silent)
        }
        _ => !super::levels::reads_columns(expr),
    }
}

/// A policy's condition, for whoever defines it: what it names is there, and it is boolean.
pub(crate) fn check_policy(catalog: &Catalog, path: &SearchPath, table: &Table, text: &str) -> Result<(), PlanError> {
    let session = SessionInfo { path: path.clone(), ..SessionInfo::default() };
    let parsed = parse_expression(text)?;
    let mut resolver = Resolver::new(catalog, &session, "", &[]);
    let frame = resolver.row_frame(table, Clause::Policy);
    let (condition, _) = resolver.with_frame(frame, |resolver| {
        let typed = resolver.expr(&parsed)?;
        resolver.condition(typed, "POLICY", None)
    })?;
    let _resolved = condition;
    resolver.refuse_parameters()
}
