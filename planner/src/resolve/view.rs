//! Views: what their texts mean, how a text is kept so that later changes do not change its meaning, and which
//! of them a dataflow can maintain.
//!
//! A kept text is never trusted: it is resolved again wherever the view is used, and compared with what it
//! meant whenever a definition changes something under it (`still_means`).

use super::kept_text::respelled;
use super::outputs::Outputs;
use super::query::locks;
use super::relabel::Relabel;
use super::returned::writes_in_with;
use super::scope::FromItem;
use super::view_names::{Meaning, Mention, Trace};
use super::{Needs, Resolver, SessionInfo, ViewUse};
use crate::catalog::{Catalog, Qualifier, Scope, SearchPath, Table, View};
use crate::error::PlanError;
use crate::hir::{HirQuery, OutputColumn};
use crate::ownership::quote_identifier;
use crate::parse::{Edit, name_items, parse_query, splice, written};
use crate::scalar::func::parse_identifier;
use repr::{ColumnIndex, ColumnType, RelationId, ScalarType};
use sqlparser::ast::LockClause;
use sqlparser::tokenizer::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How deep views may stand over views: each level is a level of the stack in every rung of the planner.
const VIEW_DEPTH_MAX: usize = 64;

/// Views that one statement may expand: two of each level over two of the next would otherwise double without end, and
/// a join of hundreds of tables takes seconds to plan.
const VIEWS_MAX: usize = 250;

/// A view's definition as it is kept.
pub(super) struct ViewDefinition {
    pub(super) query: String,
    pub(super) columns: Vec<OutputColumn>,
    pub(super) reads: BTreeMap<RelationId, Vec<ColumnIndex>>,
    pub(super) primary_keys: BTreeSet<RelationId>,
}

/// The definition of a view, resolved: plain views inside are expanded, maintained ones are relations.
///
/// # Errors
/// 42P01 if there is no such view; those of the query if the catalog has changed under it, which DDL does not let
/// happen.
pub(crate) fn view_query(catalog: &Catalog, relation: RelationId) -> Result<HirQuery, PlanError> {
    let view = catalog.table(relation).and_then(|table| table.view.as_ref());
    let view = view.ok_or_else(|| PlanError::new("42P01", format!("view with OID {relation} does not exist")))?;
    Ok(meaning(&view.query, catalog.into(), ViewUse::Read, false)?.0)
}

/// A view's query with the views that it reads as relations.
pub(super) fn opaque(text: &str, catalog: &Catalog) -> Result<HirQuery, PlanError> {
    Ok(meaning(text, catalog.into(), ViewUse::Opaque, false)?.0)
}

/// Resolves a text. `traced` also says what it names.
fn meaning(text: &str, scope: Scope<'_>, views: ViewUse, traced: bool) -> Result<(HirQuery, Trace), PlanError> {
    let session = SessionInfo { path: scope.path.clone(), views, ..SessionInfo::default() };
    meaning_by(&session, text, scope, traced)
}

fn meaning_by(
    session: &SessionInfo,
    text: &str,
    scope: Scope<'_>,
    traced: bool,
) -> Result<(HirQuery, Trace), PlanError> {
    let query = parse_query(text)?;
    if writes_in_with(&query) {
        return Err(PlanError::new("0A000", "views must not contain data-modifying statements in WITH"));
    }
    let mut resolver = Resolver::new(scope.catalog, session, text, &[]);
    resolver.keeps = true;
    resolver.trace = traced.then(Trace::default);
    let resolved = resolver.query(&query, Outputs::Settled)?;
    resolver.refuse_parameters()?;
    if !resolved.locks.is_empty() || locks(&query) || !resolver.take_locking().is_empty() {
        return Err(PlanError::unsupported("FOR UPDATE in a view").hint("lock the rows where they are read"));
    }
    Ok((resolved, resolver.trace.unwrap_or_default()))
}

/// What a new view is: its text with all names qualified and stars written out, its columns, what it reads.
///
/// # Errors
/// Those of the query; 0A000 if its text has no form that means the same whatever the search path is.
pub(super) fn define(text: &str, names: &[String], scope: Scope<'_>) -> Result<ViewDefinition, PlanError> {
    let catalog = scope.catalog;
    let (original, trace) = meaning(text, scope, ViewUse::Opaque, true)?;
    let kept = |edits: Edits| {
        let edited = splice(text, trace.mentions.iter().filter_map(|mention| edits.of(mention, text, scope)));
        respelled(&edited, scope, catalog.into())
    };
    let forms =
        [Edits::ALL, Edits { qualifiers: false, ..Edits::ALL }, Edits { columns: false, ..Edits::ALL }, Edits::NONE];
    let found = forms.into_iter().map(kept).find(|form| means(form, catalog, &original));
    let mut query = found.ok_or_else(|| {
        PlanError::unsupported("this view with this search path")
            .hint("write the schemas of what it reads, and give each relation an alias")
    })?;
    let mut columns = original.columns.clone();
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    query = named_outputs(&query, catalog, &original, &columns)?;
    let reads = trace.reads.into_iter().map(|(relation, columns)| (relation, columns.into_iter().collect())).collect();
    Ok(ViewDefinition { query, columns, reads, primary_keys: trace.primary_keys })
}

/// Which names of a view's text are written anew as it is kept.
#[derive(Clone, Copy)]
struct Edits {
    /// Stars, and columns without a table.
    columns: bool,
    /// Schemas before a column's table.
    qualifiers: bool,
}

impl Edits {
    const ALL: Edits = Edits { columns: true, qualifiers: true };
    /// But for relations, whose schema must be right.
    const NONE: Edits = Edits { columns: false, qualifiers: false };

    fn of(self, mention: &Mention, text: &str, scope: Scope<'_>) -> Option<Edit> {
        let (span, text) = match &mention.meaning {
            // `TABLE name`, which has its star there.
            Meaning::Star(columns) if self.columns && written(text, &mention.span).eq_ignore_ascii_case("TABLE") => {
                (mention.span, format!("SELECT {} FROM", columns.join(", ")))
            }
            Meaning::Star(columns) if self.columns => (mention.span, columns.join(", ")),
            Meaning::Column { name, qualifier: Some(table), .. } if self.columns => {
                (mention.span, format!("{}.{}", quote_identifier(table), quote_identifier(name)))
            }
            Meaning::Qualifier(table) if self.qualifiers => (mention.span, quote_identifier(table)),
            Meaning::Relation { id, whole, .. } => {
                return respelled_relation(text, *id, whole, scope, scope.catalog.into());
            }
            Meaning::Column { .. } | Meaning::Star(_) | Meaning::Qualifier(_) => return None,
        };
        Some(Edit { span, text })
    }
}

/// A relation's name as somebody else must spell it, if the text does not do as it stands.
fn respelled_relation(text: &str, id: RelationId, whole: &Span, from: Scope<'_>, to: Scope<'_>) -> Option<Edit> {
    let parts = parse_identifier(written(text, whole), true).ok()?;
    let (name, before) = parts.split_last()?;
    let read = |scope: Scope<'_>| scope.class(Qualifier::of(before), name).is_some_and(|found| found.oid() == id.0);
    if !read(from) || before.len() < 2 && read(to) {
        return None;
    }
    Some(Edit { span: *whole, text: to.spelled_table(to.catalog.table(id)?) })
}

/// What a kept text says where a label of an enumeration is read as another.
///
/// # Errors
/// Those of the query.
pub(super) fn relabelled_meaning(
    text: &str,
    catalog: &Catalog,
    relabel: Option<&Relabel>,
) -> Result<HirQuery, PlanError> {
    let session = SessionInfo { views: ViewUse::Opaque, relabel: relabel.cloned(), ..SessionInfo::default() };
    meaning_by(&session, text, catalog.into(), false).map(|(query, _)| query)
}

/// A view's text after relations have moved between schemas, or schemas have got other names.
pub(super) fn moved(text: &str, before: &Catalog, after: &Catalog) -> String {
    let Ok((_, trace)) = meaning(text, before.into(), ViewUse::Opaque, true) else { return text.to_owned() };
    let edits = trace.mentions.iter().filter_map(|mention| match &mention.meaning {
        Meaning::Relation { id, whole, .. } if before.table(*id)?.name == after.table(*id)?.name => {
            respelled_relation(text, *id, whole, before.into(), after.into())
        }
        Meaning::Relation { .. } | Meaning::Column { .. } | Meaning::Star(_) | Meaning::Qualifier(_) => None,
    });
    splice(text, edits)
}

/// A text whose outputs have these names, and keep them when what they are computed from is renamed.
fn named_outputs(
    text: &str,
    catalog: &Catalog,
    original: &HirQuery,
    columns: &[OutputColumn],
) -> Result<String, PlanError> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let wanted = HirQuery { columns: columns.to_vec(), ..original.clone() };
    if let Some(named) = name_items(text, &names)
        && means(&named, catalog, &wanted)
    {
        return Ok(named);
    }
    if wanted.columns == original.columns {
        return Ok(text.to_string());
    }
    let list = |prefix: &str| {
        names.iter().map(|name| format!("{prefix}{}", quote_identifier(name))).collect::<Vec<_>>().join(", ")
    };
    let wrapped = format!("SELECT {} FROM (\n{text}\n) AS q ({})", list("q."), list(""));
    let (resolved, _) = meaning(&wrapped, catalog.into(), ViewUse::Opaque, false)?;
    if resolved.columns.iter().map(|column| &column.name).eq(&names) {
        Ok(wrapped)
    } else {
        Err(PlanError::unsupported("this list of column names").hint("name the columns in the query itself, with AS"))
    }
}

/// The text of a view with its columns under new names.
///
/// # Errors
/// 0A000 if the text has no form in which they can be named.
pub(super) fn rename_columns(text: &str, names: &[String], catalog: &Catalog) -> Result<String, PlanError> {
    let original = opaque(text, catalog)?;
    let mut columns = original.columns.clone();
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    named_outputs(text, catalog, &original, &columns)
}

/// Whether a view can be used: it, and what it stands on, can be expanded.
pub(super) fn check_expansion(text: &str, catalog: &Catalog) -> Result<(), PlanError> {
    meaning(text, catalog.into(), ViewUse::Expand, false).map(|_| ())
}

fn means(text: &str, catalog: &Catalog, wanted: &HirQuery) -> bool {
    meaning(text, catalog.into(), ViewUse::Opaque, false).is_ok_and(|(resolved, _)| resolved == *wanted)
}

/// A view's query as `pg_get_viewdef` shows it to somebody: with schemas just where they are needed.
pub(crate) fn shown_definition(view: &View, scope: Scope<'_>) -> String {
    let kept = Scope::from(scope.catalog);
    if scope.path.is_as_kept() {
        return view.definition();
    }
    let Ok((original, trace)) = meaning(&view.query, kept, ViewUse::Opaque, true) else { return view.definition() };
    let edits = trace.mentions.iter().filter_map(|mention| match &mention.meaning {
        Meaning::Relation { id, whole, .. } => {
            let spelled = scope.spelled_table(scope.catalog.table(*id)?);
            Some(Edit { span: *whole, text: spelled })
        }
        Meaning::Column { .. } | Meaning::Star(_) | Meaning::Qualifier(_) => None,
    });
    let query = respelled(&splice(&view.query, edits), kept, scope);
    let same = meaning(&query, scope, ViewUse::Opaque, false).is_ok_and(|(resolved, _)| resolved == original);
    if same { View { query, ..view.clone() }.definition() } else { view.definition() }
}

/// The text with a relation, or one of its columns, under its new name; the catalog still has the old one. Whether it
/// means the same is for `still_means` to say.
pub(super) fn rename(
    text: &str,
    catalog: &Catalog,
    relation: RelationId,
    column: Option<ColumnIndex>,
    new: &str,
) -> Result<String, PlanError> {
    let (_, trace) = meaning(text, catalog.into(), ViewUse::Opaque, true)?;
    let Some(table) = catalog.table(relation) else { return Ok(text.to_string()) };
    let old = column.map_or(&table.name, |column| &table.columns[column].name);
    let new = quote_identifier(new);
    let outputs: BTreeSet<_> = trace
        .mentions
        .iter()
        .filter(|mention| matches!(mention.meaning, Meaning::Column { is_output: true, .. }))
        .map(|mention| mention.span)
        .collect();
    let under_old_name = |keeps: bool| if keeps { format!("{new} AS {}", quote_identifier(old)) } else { new.clone() };
    Ok(splice(
        text,
        trace.mentions.iter().filter_map(|mention| {
            let text = match (&mention.meaning, column) {
                (Meaning::Relation { id, aliased, .. }, None) if *id == relation => under_old_name(!aliased),
                (Meaning::Column { name, origin, .. }, Some(column))
                    if *origin == Some((relation, column)) && name == old =>
                {
                    under_old_name(outputs.contains(&mention.span))
                }
                _ => return None,
            };
            Some(Edit { span: mention.span, text })
        }),
    ))
}

/// Whether every view that stays says after a definition what it said before. Views are compared one by one, those that
/// they read as relations.
///
/// # Errors
/// 2BP01 if a view's text makes no sense any more, 0A000 if it would mean something else.
///
/// A label that is renamed is read by its new name in what was said before.
pub(super) fn still_means(old: &Catalog, new: &Catalog, relabel: Option<&Relabel>) -> Result<(), PlanError> {
    let types_changed = old.types.len() != new.types.len()
        || old.types.iter().any(|(id, found)| new.types.get(id).is_none_or(|now| !Arc::ptr_eq(now, found)));
    let mut baseline = None;
    for table in new.relations.values() {
        let Some(view) = &table.view else { continue };
        let Some(before) = old.table(table.id).and_then(|table| table.view.as_ref()) else { continue };
        let renamed = old.namespaces != new.namespaces || old.databases != new.databases;
        if !(types_changed || renamed || view.reads.keys().any(|id| is_changed(old, new, *id))) {
            continue;
        }
        let baseline = baseline.get_or_insert_with(|| as_it_was(old, new));
        compare(table, view, (before, relabel), baseline, new)?;
    }
    Ok(())
}

/// Whether a relation is there in one catalog only, or is defined otherwise in the other.
pub(super) fn is_changed(old: &Catalog, new: &Catalog, id: RelationId) -> bool {
    match (old.relations.get(&id), new.relations.get(&id)) {
        (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

fn compare(
    table: &Table,
    view: &View,
    (before, relabel): (&View, Option<&Relabel>),
    baseline: &Catalog,
    new: &Catalog,
) -> Result<(), PlanError> {
    const HINT: &str = "Drop the view, make the change, and create the view again.";
    let kind = if view.materialized { "materialized view" } else { "view" };
    let broken = |error: PlanError| {
        PlanError::new("2BP01", format!("{kind} {} depends on what this statement changes", table.name))
            .detail(format!("Its query would fail: {}.", error.message))
            .hint(HINT)
    };
    let wanted = relabelled_meaning(&before.query, baseline, relabel).map_err(broken)?;
    let (resolved, _) = meaning(&view.query, new.into(), ViewUse::Opaque, false).map_err(broken)?;
    let types = |query: &HirQuery| -> Vec<ColumnType> {
        query.columns.iter().map(|column| ColumnType { nullable: true, ..column.column_type.clone() }).collect()
    };
    let kept: Vec<ColumnType> = table.columns.iter().map(|column| column.column_type.clone()).collect();
    if wanted == resolved && types(&resolved) == kept {
        return Ok(());
    }
    Err(PlanError::unsupported(format!("a change that {kind} \"{}\" would take in", table.name))
        .detail("The text of its query would mean something else after this statement.")
        .hint(HINT))
}

/// The new catalog with the names that the old one had, with its types alone, and without the columns that are new.
fn as_it_was(old: &Catalog, new: &Catalog) -> Catalog {
    let mut baseline = new.clone();
    baseline.databases.extend(old.databases.iter().map(|(id, then)| (*id, then.clone())));
    baseline.namespaces.extend(old.namespaces.iter().map(|(id, then)| (*id, then.clone())));
    // A type that is new would take its name from an array, one that is gone would give it back.
    baseline.types.retain(|id, _| old.types.contains_key(id));
    old.types.iter().for_each(|(id, then)| _ = baseline.types.entry(*id).or_insert_with(|| then.clone()));
    for (id, found) in &mut baseline.types {
        if let Some(then) = old.types.get(id) {
            let now = Arc::make_mut(found);
            (now.namespace, now.name) = (then.namespace, then.name.clone());
        }
    }
    for then in old.sequences.values().filter(|then| new.sequences.contains_key(&then.id)) {
        baseline.move_sequence(then.id, then.namespace, &then.name);
    }
    for (id, table) in &new.relations {
        let Some(before) = old.table(*id).filter(|before| !Arc::ptr_eq(before, table)) else { continue };
        let mut table_then = Table::clone(table);
        for (index, column) in table_then.columns.iter_mut().enumerate() {
            match before.columns.get(index) {
                Some(then) if !column.dropped => column.name.clone_from(&then.name),
                Some(_) => {}
                None => column.dropped = true,
            }
        }
        baseline.remove_relation(*id);
        (table_then.namespace, table_then.name) = (before.namespace, before.name.clone());
        baseline.add_relation(Arc::new(table_then));
    }
    baseline
}

/// Whether it is an array of what is no type of a column.
pub(super) fn of_cstring(scalar: &ScalarType) -> bool {
    matches!(scalar, ScalarType::Array(element) if **element == ScalarType::Cstring)
}

/// 0A000 for what is kept of access lists: they name roles, which may be renamed or go.
pub(super) fn refuse_access_list(scalar: &ScalarType) -> Result<(), PlanError> {
    if *scalar.unarrayed() == ScalarType::AclItem {
        return Err(
            PlanError::unsupported("a column of type aclitem").hint("Keep it as text, or what aclexplode says.")
        );
    }
    Ok(())
}

/// 42P16 for what no column can be.
pub(super) fn refuse_pseudo_types(columns: &[OutputColumn]) -> Result<(), PlanError> {
    for column in columns {
        let scalar = &column.column_type.scalar;
        if scalar.is_pseudo() || scalar.is_anonymous() || of_cstring(scalar) {
            return Err(PlanError::new(
                "42P16",
                format!("column \"{}\" has pseudo-type {}", column.name, column.column_type.scalar.name()),
            ));
        }
    }
    Ok(())
}

impl Resolver<'_> {
    /// The rows of a view, from its query: a scope of its own, in which nothing of the statement around it is seen.
    pub(super) fn expand_view(&mut self, table: &Table, locks: Vec<LockClause>) -> Result<FromItem, PlanError> {
        let missing = || PlanError::new("42P01", format!("view \"{}\" does not exist", table.name));
        let query = parse_query(&table.view.as_ref().ok_or_else(missing)?.query)?;
        self.views.expanded += 1;
        if self.views.depth >= VIEW_DEPTH_MAX || self.views.expanded > VIEWS_MAX {
            return Err(PlanError::new("54001", "stack depth limit exceeded").hint(format!(
                "Views stand over views at most {VIEW_DEPTH_MAX} deep, and a statement expands at most {VIEWS_MAX} of them."
            )));
        }
        let (item, needs) = self.nested(|resolver| resolver.in_view(|inner| inner.covered(&query, locks)))?;
        self.needs.below_view(table, needs);
        Ok(item)
    }

    /// Reads what stands in a view's text, and says what that takes.
    pub(super) fn in_view<T>(
        &mut self,
        body: impl FnOnce(&mut Resolver<'_>) -> Result<T, PlanError>,
    ) -> Result<(T, Needs), PlanError> {
        // Its text was understood with the usual search path, whatever this session's is.
        let path = SearchPath::kept().as_of(self.session.path.actor().clone()).at_home(self.session.path.home());
        let session = SessionInfo { path, ..self.session.clone() };
        let mut inner = Resolver::new(self.catalog, &session, "", &[]);
        inner.ctes.next = self.ctes.next;
        inner.nesting.items = self.nesting.items;
        inner.nesting.depth = self.nesting.depth;
        inner.under_policies_of.clone_from(&self.under_policies_of);
        inner.views.depth = self.views.depth + 1;
        inner.views.expanded = self.views.expanded;
        let found = body(&mut inner)?;
        self.take_up(&mut inner);
        Ok((found, inner.needs))
    }

    /// What was read within a text stands in the statement around it: all that is counted, but for what that takes.
    pub(super) fn take_up(&mut self, inner: &mut Resolver<'_>) {
        self.ctes.next = inner.ctes.next;
        self.nesting.items = inner.nesting.items;
        self.views.expanded = inner.views.expanded;
        self.views.maintained.append(&mut inner.views.maintained);
        self.views.computed.append(&mut inner.views.computed);
        self.of_role |= inner.of_role;
        self.bound |= inner.bound;
        self.calls += inner.calls;
        self.operators.append(&mut inner.operators);
    }
}
