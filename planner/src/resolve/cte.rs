//! WITH: common table expressions, recursive ones too.

use super::comparable::require_equality;
use super::levels::{outer_references, shift_hir};
use super::outputs::{Limits, Outputs};
use super::recursion::{Bar, check_recursive_term, malformed, mentions, named};
use super::returned::{Returned, writes};
use super::scope::{Binding, Source, Visible, fold};
use super::{CteBinding, Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{CteId, Hir, HirNode, OutputColumn};
use crate::names::Names;
use repr::{ColumnType, ScalarType, poll};
use sqlparser::ast::{Cte, LimitClause, Query, SetExpr, SetOperator, SetQuantifier, TableFactor, With};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A CTE that is to stand around the body.
#[derive(Clone)]
pub(super) enum CteDefinition {
    Plain {
        id: CteId,
        name: String,
        value: Hir,
    },
    /// Base and step see what is `within`, and no one else does.
    Recursive {
        id: CteId,
        name: String,
        base: Hir,
        step: Hir,
        distinct: bool,
        within: Vec<Arc<CteDefinition>>,
    },
}

impl CteDefinition {
    pub(super) fn id(&self) -> CteId {
        match self {
            CteDefinition::Plain { id, .. } | CteDefinition::Recursive { id, .. } => *id,
        }
    }

    pub(super) fn wrap(self: Arc<Self>, body: Hir) -> Hir {
        let types = body.types.clone();
        let body = Box::new(body);
        match Arc::unwrap_or_clone(self) {
            CteDefinition::Plain { id, name, value } => {
                Hir { node: HirNode::Let { id, name, value: Box::new(value), body }, types }
            }
            CteDefinition::Recursive { id, name, base, step, distinct, within } => {
                let node = HirNode::LetRec { id, name, base: Box::new(base), step: Box::new(step), distinct, body };
                within.into_iter().rev().fold(Hir { node, types }, |body, definition| definition.wrap(body))
            }
        }
    }
}

impl CteBinding {
    fn new(name: &str, columns: Vec<OutputColumn>, id: CteId, inline: Option<(Hir, usize)>) -> Self {
        CteBinding {
            name: name.to_owned(),
            columns,
            id,
            inline,
            definition: None,
            used: false,
            locking: (0, 0),
            bar: None,
        }
    }
}

impl Resolver<'_> {
    /// Brings the CTEs into scope; the caller takes them out again.
    ///
    /// # Errors
    /// 0A000 for a WITH query that writes anywhere but at the top.
    pub(super) fn with_clause(&mut self, with: &With, at_top: bool) -> Result<Vec<Arc<CteDefinition>>, PlanError> {
        let row_keys = std::mem::replace(&mut self.row_locks.with_row_keys, false);
        let result = self.definitions(with, at_top);
        self.row_locks.with_row_keys = row_keys;
        result
    }

    fn definitions(&mut self, with: &With, at_top: bool) -> Result<Vec<Arc<CteDefinition>>, PlanError> {
        let mut definitions = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for cte in self.in_order(with)? {
            let name = fold(&cte.alias.name);
            if writes(&cte.query) {
                let recursive = with.recursive && mentions(&cte.query, &name);
                definitions.push(self.writing(cte, &name, at_top, recursive)?);
                names.push(name);
                continue;
            }
            let locking = self.row_locks.subqueries.len();
            let definition = if with.recursive && mentions(&cte.query, &name) {
                Some(self.recursive(cte, &name)?)
            } else if with.recursive {
                let why = Bar::Malformed(self.at(cte.alias.name.span));
                self.forbidding(&name, why, |resolver| resolver.plain(cte, &name))?
            } else {
                self.plain(cte, &name)?
            };
            let definition = definition.map(Arc::new);
            if let Some(binding) = self.ctes.in_scope.last_mut() {
                binding.definition.clone_from(&definition);
                binding.locking = (locking, self.row_locks.subqueries.len());
            }
            definitions.extend(definition);
            names.push(name);
        }
        Ok(definitions)
    }

    /// The queries of a WITH, each behind those that it reads: under RECURSIVE these may be written behind it.
    fn in_order<'w>(&self, with: &'w With) -> Result<Vec<&'w Cte>, PlanError> {
        let names: Vec<String> = with.cte_tables.iter().map(|cte| fold(&cte.alias.name)).collect();
        let mut left: Vec<usize> = (0..names.len()).collect();
        let at = |place: usize| self.at(with.cte_tables[place].alias.name.span);
        if let Some(twice) = left.iter().find(|&&place| names[..place].contains(&names[place])) {
            let message = format!("WITH query name \"{}\" specified more than once", names[*twice]);
            return Err(PlanError::new("42712", message).at(at(*twice)));
        }
        if !with.recursive {
            return Ok(with.cte_tables.iter().collect());
        }
        let places: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        // Of each, those that it reads and that are still to come.
        let mut awaited: Vec<BTreeSet<usize>> = Vec::with_capacity(names.len());
        for (place, cte) in with.cte_tables.iter().enumerate() {
            poll::step_or_unwind();
            let named = named(&cte.query).into_iter().filter_map(|name| places.get(&*name).copied());
            awaited.push(named.filter(|other| *other != place && mentions(&cte.query, &names[*other])).collect());
        }
        if awaited.iter().zip(0..).all(|(others, place)| others.iter().all(|other| *other < place)) {
            return Ok(with.cte_tables.iter().collect());
        }
        let mut ordered = Vec::with_capacity(names.len());
        while !left.is_empty() {
            let Some(free) = left.iter().position(|&place| awaited[place].is_empty()) else {
                let message = "mutual recursion between WITH items is not implemented";
                return Err(PlanError::new("0A000", message).at(at(left[0])));
            };
            let place = left.remove(free);
            for others in &mut awaited {
                poll::step_or_unwind();
                others.remove(&place);
            }
            ordered.push(&with.cte_tables[place]);
        }
        Ok(ordered)
    }

    /// Resolves what may not refer to a recursive query of that name. What it brings into scope stays.
    fn forbidding<T>(
        &mut self,
        name: &str,
        why: Bar,
        body: impl FnOnce(&mut Self) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let place = self.ctes.in_scope.len();
        // Nothing refers to it, so it needs no number of its own.
        let own = CteBinding::new(name, Vec::new(), CteId(self.ctes.next), None);
        self.ctes.in_scope.push(CteBinding { bar: Some(why), ..own });
        let result = body(self);
        self.ctes.in_scope.remove(place);
        result
    }

    fn plain(&mut self, cte: &Cte, name: &str) -> Result<Option<CteDefinition>, PlanError> {
        let (mut value, outputs) = self.subquery(&cte.query, Limits::Ordered)?;
        let columns = self.cte_columns(cte, name, outputs)?;
        value.named_outputs(name, &columns);
        let id = self.fresh_cte();
        if let Some(identity) = self.identity(&value, &self.ctes.identities)? {
            self.ctes.identities.insert(id, identity);
        }
        let mut correlated = false;
        outer_references(&mut value, &mut |_, _| correlated = true);
        // One that refers to rows around it is put in place at each use: there its levels are right.
        let inline = correlated.then(|| (value.clone(), self.frames.len()));
        self.ctes.in_scope.push(CteBinding::new(name, columns, id, inline));
        Ok((!correlated).then(|| CteDefinition::Plain { id, name: name.to_owned(), value }))
    }

    /// One that writes: what reads it reads what it returns. It is done whether anything reads it or not.
    fn writing(
        &mut self,
        cte: &Cte,
        name: &str,
        at_top: bool,
        recursive: bool,
    ) -> Result<Arc<CteDefinition>, PlanError> {
        let position = self.at(cte.alias.name.span);
        if !at_top {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(PlanError::new("0A000", message).at(position));
        }
        if recursive {
            let message = format!("recursive query \"{name}\" must not contain data-modifying statements");
            return Err(PlanError::new("42P19", message).at(position));
        }
        let Returned { mut value, outputs, returns } = self.with_write(&cte.query, name)?;
        let columns = self.cte_columns(cte, name, outputs)?;
        value.named_outputs(name, &columns);
        let id = self.fresh_cte();
        let definition = Arc::new(CteDefinition::Plain { id, name: name.to_owned(), value });
        let binding = CteBinding::new(name, columns, id, None);
        let bar = (!returns).then_some(Bar::ReturnsNothing);
        self.ctes.in_scope.push(CteBinding { definition: Some(definition.clone()), bar, ..binding });
        Ok(definition)
    }

    fn cte_columns(
        &self,
        cte: &Cte,
        name: &str,
        mut outputs: Vec<OutputColumn>,
    ) -> Result<Vec<OutputColumn>, PlanError> {
        if cte.alias.columns.len() > outputs.len() {
            return Err(PlanError::new(
                "42P10",
                format!(
                    "WITH query \"{name}\" has {} columns available but {} columns specified",
                    outputs.len(),
                    cte.alias.columns.len()
                ),
            ));
        }
        for (output, alias) in outputs.iter_mut().zip(&cte.alias.columns) {
            output.name = fold(&alias.name);
        }
        Ok(outputs)
    }

    /// `name AS ([WITH …] base UNION [ALL] step)`.
    fn recursive(&mut self, cte: &Cte, name: &str) -> Result<CteDefinition, PlanError> {
        let position = self.at(cte.alias.name.span);
        let malformed = || malformed(name).at(position);
        let query = &*cte.query;
        refuse_around_recursion(query).map_err(|error| error.at(position))?;
        if let Some(inner) = &query.with
            && inner.cte_tables.iter().any(|cte| mentions(&cte.query, name))
        {
            return Err(malformed());
        }
        let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } = &*query.body else {
            return Err(malformed());
        };
        let distinct = match set_quantifier {
            SetQuantifier::All => false,
            SetQuantifier::None | SetQuantifier::Distinct => true,
            SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => return Err(malformed()),
        };
        check_recursive_term(right, name).map_err(|(error, span)| error.at(self.at(span)))?;
        let mark = self.ctes.in_scope.len();
        let within = match &query.with {
            Some(with) => self.with_clause(with, false)?,
            None => Vec::new(),
        };
        let sublinks = self.nesting.sublinks;
        let within_base = Bar::Term { recursive: false, sublinks };
        let (mut base, outputs) =
            self.forbidding(name, within_base, |resolver| resolver.set_operand(left, &Outputs::Settled))?;
        let columns = self.cte_columns(cte, name, outputs)?;
        base.named_outputs(name, &columns);
        let id = self.fresh_cte();
        let bar = Some(Bar::Term { recursive: true, sublinks });
        let own = CteBinding::new(name, columns.clone(), id, None);
        self.ctes.in_scope.push(CteBinding { bar, ..own });
        let wanted: Vec<ColumnType> = base.types.clone();
        let (step, _) = self.set_operand(right, &Outputs::Hinted(&wanted))?;
        if aggregates(&step) && lists(right, name) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(PlanError::new("42P19", message).at(position));
        }
        if step.arity() != base.arity() {
            return Err(PlanError::new("42601", "each UNION query must have the same number of columns").at(position));
        }
        if distinct {
            wanted
                .iter()
                .try_for_each(|column| require_equality(&column.scalar))
                .map_err(|error| error.at(position))?;
        }
        let step = self.cast_step(step, &wanted, name, position)?;
        self.ctes.in_scope.truncate(mark);
        let columns = columns.into_iter().map(|column| OutputColumn { origin: None, ..column }).collect();
        self.ctes.in_scope.push(CteBinding::new(name, columns, id, None));
        for column in &mut base.types {
            column.nullable = true;
        }
        Ok(CteDefinition::Recursive { id, name: name.to_owned(), base, step, distinct, within })
    }

    /// The recursive term with the types of the other.
    fn cast_step(
        &mut self,
        step: Hir,
        wanted: &[ColumnType],
        name: &str,
        position: Option<u32>,
    ) -> Result<Hir, PlanError> {
        let mut casts = Vec::with_capacity(wanted.len());
        for (index, wanted) in wanted.iter().enumerate() {
            let given = &step.types[index];
            let overall =
                crate::scalar::cast::select_common_type_for("UNION", &[wanted.scalar.clone(), given.scalar.clone()])?;
            let is_alike = given.scalar == wanted.scalar && given.modifier == wanted.modifier;
            let modifier = if is_alike { wanted.modifier } else { -1 };
            if overall != wanted.scalar || modifier != wanted.modifier {
                let label = |scalar: &ScalarType, modifier| match modifier {
                    -1 => self.type_label(scalar),
                    _ => scalar.format_type(modifier),
                };
                return Err(PlanError::new(
                    "42804",
                    format!(
                        "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                        index + 1,
                        label(&wanted.scalar, wanted.modifier),
                        label(&overall, modifier)
                    ),
                )
                .hint("Cast the output of the non-recursive term to the correct type.")
                .at(position));
            }
            let column = Typed::column(index, given.clone());
            casts.push(self.coerce(column, &wanted.scalar)?);
        }
        let (step, places) = step.with_columns(casts);
        Ok(step.project(places))
    }

    /// A use of the CTE at that place in the list.
    ///
    /// # Errors
    /// 42P19 for a recursive term's own name within a subquery: it would see one round's rows there, and might never end.
    pub(super) fn cte_reference(&mut self, index: usize) -> Result<(Hir, Binding), PlanError> {
        self.ctes.in_scope[index].used = true;
        let cte = self.ctes.in_scope[index].clone();
        if let Some(refusal) = cte.bar.and_then(|bar| bar.refusal(&cte.name, self.nesting.sublinks)) {
            return Err(refusal);
        }
        let types: Vec<ColumnType> = cte.columns.iter().map(|column| column.column_type.clone()).collect();
        let hir = match cte.inline {
            Some((mut value, depth)) => {
                let by = isize::try_from(self.frames.len() - depth).unwrap_or(0);
                shift_hir(&mut value, 0, by);
                self.with_items_of_its_own(&mut value);
                value
            }
            None => Hir { node: HirNode::GetCte(cte.id, Names::default()), types },
        };
        let columns = cte
            .columns
            .into_iter()
            .enumerate()
            .map(|(index, column)| Visible {
                name: column.name,
                index,
                column_type: column.column_type,
                origin: column.origin,
            })
            .collect();
        Ok((hir, Binding { source: Source::With, ..Binding::of(cte.name, columns) }))
    }
}

fn not_recursive(clause: &str) -> PlanError {
    PlanError::new("0A000", format!("{clause} in a recursive query is not implemented"))
}

/// Whether a SELECT aggregates, below what it computes from the aggregates.
fn aggregates(select: &Hir) -> bool {
    match &select.node {
        HirNode::Map(input, _) | HirNode::Filter(input, _) | HirNode::Project(input, _) | HirNode::Distinct(input) => {
            aggregates(input)
        }
        node => matches!(node, HirNode::Reduce { .. }),
    }
}

/// Whether a SELECT's own FROM lists a name.
fn lists(body: &SetExpr, name: &str) -> bool {
    let SetExpr::Select(select) = body else { return false };
    let named = |factor: &TableFactor| {
        matches!(factor, TableFactor::Table { name: written, args: None, .. }
            if written.0.len() == 1 && written.0[0].as_ident().is_some_and(|ident| fold(ident) == name))
    };
    select.from.iter().any(|item| named(&item.relation) || item.joins.iter().any(|join| named(&join.relation)))
}

/// What may not stand around a recursion.
fn refuse_around_recursion(query: &Query) -> Result<(), PlanError> {
    if query.order_by.is_some() {
        return Err(not_recursive("ORDER BY"));
    }
    if let Some(LimitClause::LimitOffset { offset: Some(_), .. }) = &query.limit_clause {
        return Err(not_recursive("OFFSET"));
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err(not_recursive("LIMIT"));
    }
    if !query.locks.is_empty() {
        return Err(not_recursive("FOR UPDATE/SHARE"));
    }
    Ok(())
}
