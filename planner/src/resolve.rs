//! Names and types: from parsed statements to `hir`, by PostgreSQL's rules and with its errors.
//!
//! Second step of a statement's trip, after `parse`, before `lower`. Pure: reads the catalog, evaluates
//! nothing but literals. Never looks at rows, and never decides how a query is run.

mod arrange;
mod body_names;
mod build;
mod call;
mod calls;
mod catalog_expr;
mod coerce;
mod collate;
mod comparable;
mod conflict;
mod consent;
mod copy;
mod copy_terms;
mod created_operator;
mod cte;
pub mod ddl;
mod described;
mod direction;
mod dml;
pub(crate) mod domain;
mod expr;
mod forget;
mod from;
mod from_function;
mod governed;
mod group;
mod group_by;
mod hypothetical;
mod identity;
pub(crate) mod index_key;
pub(crate) mod index_predicate;
pub(crate) mod inlined;
mod insert;
mod io_call;
pub(crate) mod kept_text;
mod lateral_lock;
mod levels;
mod limit;
#[cfg(test)]
mod listed_functions;
mod literals;
pub mod maintainable;
mod merge;
mod named;
mod names;
mod naming;
mod needs;
mod operator;
pub(crate) mod operators_used;
mod outputs;
mod part;
mod policy;
mod polymorphic;
mod position;
pub mod positioned;
mod query;
mod range_call;
mod records;
mod recursion;
pub(crate) mod relabel;
mod relation;
mod requests;
mod returned;
pub mod routine_body;
mod routine_call;
mod row_literals;
mod row_lock;
mod rows_from;
mod scope;
mod select;
mod set_operation;
mod shown_query;
mod special_syntax;
pub mod statement;
mod subject;
mod subject_view;
mod subquery;
mod system_columns;
mod table_sample;
mod ties;
pub mod types;
mod unlockable;
pub(crate) mod updatable;
mod update;
pub mod view;
mod view_default;
mod view_names;
mod window;
mod with_write;
mod write_subquery;
mod write_target;

pub(crate) use catalog_expr::shown_expression;
pub use dml::row_checks;
pub(crate) use dml::{default_expression, next_value_expression};
pub use forget::{ErasedPart, Forgetting};
pub(crate) use levels::{has_subquery, with_columns_moved};
pub use needs::Needs;
pub(crate) use returned::{returned_to, returned_to_write};
pub(crate) use shown_query::{
    ShownBody, ShownCall, ShownItem, ShownJoin, ShownNames, ShownQuery, ShownSelect, ShownSet, ShownWindow, ShownWith,
    Subqueries, compared_with, same_query, shown_query,
};
pub(crate) use statement::check_expression;
pub use statement::{ExpressionUse, GdprRequest, Resolved, resolve};
pub(crate) use statement::{Resolution, resolve_reads};
pub(crate) use view::{shown_definition, view_query};

use crate::catalog::{Catalog, Scope, SearchPath};
use crate::error::PlanError;
use crate::hir::{CteId, Hir, HirColumn, HirExpr, LockingQuery, OutputColumn};
use position::Positions;
use relabel::Relabel;
use repr::{ColumnType, Datum, Id, RelationId, ScalarType, poll};
use scope::Frame;
use sqlparser::tokenizer::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use view_names::Trace;

/// What resolving must know of the session.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Where bare names are looked for.
    pub path: SearchPath,
    /// What a view in FROM becomes.
    pub views: ViewUse,
    /// Whether policies hold.
    pub policies: PolicyUse,
    /// An enumeration's label that is read as another: while that is what it becomes.
    pub(crate) relabel: Option<Relabel>,
}

/// Whether policies hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyUse {
    /// For the role that runs the statement.
    Apply,
    /// What definitions mean, and what views hold, is the same for all.
    Ignore,
}

/// What becomes of a view in FROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewUse {
    /// Maintained views are relations that are read, plain ones are expanded.
    Read,
    /// All are expanded, as for a transaction that sees its own changes.
    Expand,
    /// All are relations: for comparing definitions, never for running.
    Opaque,
}

/// Nobody's: as kept texts are read.
impl Default for SessionInfo {
    fn default() -> Self {
        SessionInfo {
            path: SearchPath::kept().clone(),
            views: ViewUse::Read,
            policies: PolicyUse::Ignore,
            relabel: None,
        }
    }
}

/// An expression and its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    /// The expression.
    pub expr: HirExpr,
    /// Its type; `Unknown` for literals and parameters that no context has typed yet.
    pub column_type: ColumnType,
    /// Whether its collation was written, rather than that of what it is made of.
    pub collated: bool,
}

impl Typed {
    fn of(expr: HirExpr, column_type: ColumnType) -> Self {
        Typed { expr, column_type, collated: false }
    }

    fn new(expr: HirExpr, scalar: ScalarType) -> Self {
        Typed::of(expr, ColumnType::nullable(scalar))
    }

    fn literal(datum: Datum, scalar: ScalarType) -> Self {
        let column_type = ColumnType { nullable: datum == Datum::Null, ..ColumnType::nullable(scalar) };
        Typed::of(HirExpr::Literal(datum, column_type.clone()), column_type)
    }

    fn boolean(expr: HirExpr) -> Self {
        Typed::new(expr, ScalarType::Bool)
    }

    fn scalar(&self) -> &ScalarType {
        &self.column_type.scalar
    }

    fn is_unknown(&self) -> bool {
        self.column_type.scalar == ScalarType::Unknown
    }

    /// A column of the row at hand.
    fn column(index: usize, column_type: ColumnType) -> Self {
        Typed::of(HirExpr::Column(HirColumn::Column { level: 0, index }), column_type)
    }
}

/// A common table expression in scope.
#[derive(Clone)]
struct CteBinding {
    name: String,
    columns: Vec<OutputColumn>,
    /// `None` while the recursive term of `id` is being resolved or it stands in a `Let`.
    id: CteId,
    /// A copy of the value, where it refers to outer rows and is therefore put in place at each use; and how many frames there
    /// were where it was defined.
    inline: Option<(Hir, usize)>,
    /// What it is, for subqueries that are run apart from the statement.
    definition: Option<Arc<cte::CteDefinition>>,
    /// Whether anything reads it.
    used: bool,
    /// The first and the next number of the subqueries in it that lock rows.
    locking: (usize, usize),
    /// Where its name may not stand.
    bar: Option<recursion::Bar>,
}

/// Resolves one statement.
pub(crate) struct Resolver<'a> {
    catalog: &'a Catalog,
    session: &'a SessionInfo,
    positions: Positions<'a>,
    /// Types of `$1`…; `None` is not seen or given, `Unknown` seen and not yet deduced.
    params: Vec<Option<ScalarType>>,
    /// Of those whose type was deduced from a domain: which one.
    param_domains: BTreeMap<usize, Id>,
    /// Rows that expressions can refer to, innermost last.
    frames: Vec<Frame>,
    ctes: Ctes,
    nesting: Nesting,
    row_locks: RowLocks,
    views: ViewsUsed,
    /// What whoever runs it must be allowed.
    needs: Needs,
    /// Whether what it becomes is for the role alone that runs it.
    of_role: bool,
    /// Whether policies keep rows from it.
    bound: bool,
    /// To a person's own login that subscribes: which parameter has the first column of the person's key.
    person_key_at: Option<usize>,
    /// Whether expired rows are there: for what deletes them.
    with_expired: bool,
    /// The tables in whose policies it stands.
    under_policies_of: Vec<RelationId>,
    /// What the text names, if that is asked.
    trace: Option<Trace>,
    /// Whether expressions become what PostgreSQL shows of them, rather than what is planned best.
    as_shown: bool,
    /// The queries within the one that is shown, where one is.
    shown: Option<shown_query::ShownWithin>,
    /// Whether the text is kept, or about to be: it names relations, rather than what is called so when it is evaluated.
    keeps: bool,
    /// Domains whose conditions are being read.
    domains: Vec<Id>,
    /// Names besides columns that the text may use.
    body: Option<body_names::BodyNames>,
    /// How many calls of created functions the session has to carry out.
    calls: usize,
    /// The created operators that it uses.
    operators: BTreeSet<Id>,
}

/// Common table expressions.
#[derive(Default)]
struct Ctes {
    /// Innermost last.
    in_scope: Vec<CteBinding>,
    /// The number of the next one.
    next: usize,
    /// What tells the rows of each apart.
    identities: identity::CteIdentities,
    /// Whether the query that is about to be resolved is the statement itself: its WITH may write.
    at_top: bool,
    /// Those that write.
    writes: Vec<crate::hir::WithWrite>,
}

/// Where the text at hand stands in the statement.
#[derive(Default)]
struct Nesting {
    /// How deep expressions and queries nest.
    depth: usize,
    /// How many subqueries of expressions stand around it.
    sublinks: usize,
    /// The first frame that belongs to its FROM clause: LATERAL opens frames from here on.
    lateral_floor: usize,
    /// How many FROM items there have been.
    items: usize,
    /// How many functions stand in each other's place around it.
    inlined: usize,
}

/// Rows that are locked, or written.
#[derive(Default)]
struct RowLocks {
    /// Whether tables of the FROM clause at hand come with their row keys.
    with_row_keys: bool,
    /// Whether the SELECT that is resolved next is a cursor's, whose row keys are wanted.
    for_cursor: bool,
    /// The table that it reads, if its rows are that table's.
    cursor_tables: Vec<RelationId>,
    /// The lock clauses of the SELECT at hand, which cover the subqueries in its FROM.
    clauses: Vec<sqlparser::ast::LockClause>,
    /// Subqueries that lock rows, by number; none where one has turned out to be read by nobody.
    subqueries: Vec<Option<LockingQuery>>,
    /// What stands left of the FROM item at hand, one for each join around it; there if that is LATERAL and locks rows.
    lefts: Vec<Option<Hir>>,
    /// Those of the subqueries that are LATERAL, while the SELECT around them is read.
    laterals: Vec<lateral_lock::LateralLock>,
}

/// Views that the statement reads.
#[derive(Default)]
struct ViewsUsed {
    /// Maintained ones that are read as relations.
    maintained: BTreeSet<RelationId>,
    /// Maintained ones that are computed.
    computed: BTreeSet<RelationId>,
    /// How many stand around the text at hand.
    depth: usize,
    /// How many have been expanded so far.
    expanded: usize,
    /// How many relations are named, but for those in views.
    named: usize,
    /// Of these: maintained views, whose rows are not all there for the role.
    kept_from_it: usize,
}

/// Nesting beyond which a statement is refused, so that no input exhausts the stack.
const DEPTH_MAX: usize = 1_000;

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        catalog: &'a Catalog,
        session: &'a SessionInfo,
        text: &'a str,
        param_types: &[Option<ScalarType>],
    ) -> Self {
        Resolver {
            catalog,
            session,
            positions: Positions::new(text),
            params: param_types.to_vec(),
            param_domains: BTreeMap::new(),
            frames: Vec::new(),
            ctes: Ctes::default(),
            nesting: Nesting::default(),
            row_locks: RowLocks::default(),
            views: ViewsUsed::default(),
            needs: Needs::default(),
            of_role: false,
            bound: false,
            person_key_at: None,
            with_expired: false,
            under_policies_of: Vec::new(),
            trace: None,
            as_shown: false,
            shown: None,
            domains: Vec::new(),
            body: None,
            calls: 0,
            operators: BTreeSet::new(),
            keeps: session.path.is_of_kept_texts(),
        }
    }

    /// The types of all parameters, once everything is resolved.
    pub(crate) fn finish_params(&self) -> Result<Vec<ColumnType>, PlanError> {
        let mut types = Vec::with_capacity(self.params.len());
        for (index, known) in self.params.iter().enumerate() {
            match known {
                Some(scalar) if *scalar != ScalarType::Unknown => {
                    let domain = self.param_domains.get(&index).copied().unwrap_or_default();
                    types.push(ColumnType { domain, ..ColumnType::nullable(scalar.clone()) });
                }
                Some(_) | None => {
                    return Err(PlanError::new(
                        "42P18",
                        format!("could not determine data type of parameter ${}", index + 1),
                    ));
                }
            }
        }
        Ok(types)
    }

    /// What names mean here.
    fn scope(&self) -> Scope<'a> {
        Scope { catalog: self.catalog, path: &self.session.path }
    }

    fn at(&self, span: Span) -> Option<u32> {
        self.positions.of(span)
    }

    fn fresh_cte(&mut self) -> CteId {
        self.ctes.next += 1;
        CteId(self.ctes.next - 1)
    }

    /// Runs `body` one level deeper, or refuses.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T, PlanError>) -> Result<T, PlanError> {
        if self.nesting.depth >= DEPTH_MAX {
            return Err(
                PlanError::new("54001", "stack depth limit exceeded").hint("The statement nests too deeply; split it.")
            );
        }
        poll::step()?;
        self.nesting.depth += 1;
        let result = body(self);
        self.nesting.depth -= 1;
        result
    }

    /// Runs `body` with `frame` as the innermost row, and gives the frame back.
    fn with_frame<T>(
        &mut self,
        frame: Frame,
        body: impl FnOnce(&mut Self) -> Result<T, PlanError>,
    ) -> Result<(T, Frame), PlanError> {
        self.frames.push(frame);
        let result = body(self);
        let frame = self.frames.pop().expect("pushed above, and every body leaves the stack as it found it");
        Ok((result?, frame))
    }
}
