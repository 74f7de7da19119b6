//! A statement's plan, kept with the version of the catalog that it is for, and what was found out of how it may be answered.

use crate::session::long_text;
use crate::session::names::Seen;
use crate::session::result_columns::{ResultColumns, result_columns};
use arc_swap::ArcSwapOption;
use planner::catalog::{Catalog, RoleId, SearchPath};
use planner::hir::OutputColumn;
use planner::lift::{Lifted, RANKS_HELD};
use planner::parse::{ParsedStatement, Statement};
use planner::plan::{Access, Plan};
use planner::resolve::{GdprRequest, Needs};
use planner::statement_shape::shape;
use planner::{MaintainedViewUse, Planned, PlannedStatement, StyledViews};
use repr::{ColumnType, RelationId, ScalarType};
use state::audit::AuditQueue;
use state::{SqlError, parallel, settings};
use std::sync::{Arc, OnceLock, Weak};
use views::automatic::{Entry, PlannedShape};

/// A prepared statement.
pub struct Prepared {
    /// The text, for `pg_stat_activity`-like relations and error positions.
    pub text: Arc<str>,
    /// Characters of the query string before it.
    pub offset: u32,
    /// What the parser made of it; planned again when the catalog has moved on.
    pub(super) parsed: ParsedStatement,
    /// The statement alone.
    pub statement: Statement,
    /// Parameter types, inferred or given.
    pub param_types: Vec<ScalarType>,
    /// What clients are told of these: domains, where they are of any.
    pub param_oids: Vec<u32>,
    /// The result's columns; `None` if it returns no rows.
    pub columns: Option<Arc<[OutputColumn]>>,
    /// Whether clients may have been told of the columns, so that they must stay as they are.
    pub(super) fixed_result: bool,
    /// The statement that prepared it, if not the protocol.
    pub(super) source: Option<Arc<str>>,
    /// The plan and the catalog version that it was made against.
    pub(super) plan: arc_swap::ArcSwap<CachedPlan>,
    /// What the audit log calls it.
    pub(super) audited_as: OnceLock<[u8; 8]>,
}

impl Prepared {
    /// What the audit log calls it: a hash of its text without literals.
    pub(super) fn audited_as(&self, queue: &AuditQueue, catalog: impl FnOnce() -> Arc<Catalog>) -> [u8; 8] {
        *self.audited_as.get_or_init(|| queue.statement(&shape(&self.text, &catalog(), settings::is_known)))
    }

    /// What the client sent to have it prepared.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or(&self.text)
    }

    /// Whether it gives rows that can be read bit by bit, as a cursor's.
    pub fn gives_rows(&self) -> bool {
        self.columns.is_some() && matches!(self.statement, Statement::Sql(_))
    }
}

impl Drop for Prepared {
    /// The tree and the plan of a long text go elsewhere: who waits for the statement's end does not wait for that.
    fn drop(&mut self) {
        if long_text::is_long(&self.text) {
            let statement = std::mem::replace(&mut self.statement, Statement::Checkpoint);
            let parsed = std::mem::replace(&mut self.parsed.statement, Statement::Checkpoint);
            let plan = self.plan.swap(Arc::new(CachedPlan::none()));
            parallel::discard((statement, parsed, plan));
        }
    }
}

/// A plan and the catalog version that it is for.
pub struct CachedPlan {
    pub(super) made_for: MadeFor,
    pub(super) planned: Planned,
    /// The columns of its result.
    pub(super) columns: Option<Arc<ResultColumns>>,
    /// The maintained views that it reads.
    pub(super) views: ViewsRead,
    /// The same with these views computed rather than read.
    pub(super) expanded: OnceLock<Arc<CachedPlan>>,
    /// Whether the query may be a view by its parameters.
    pub(super) automatic: OnceLock<Automatic>,
    /// The ordered indexes that it reads where they are in memory.
    pub(super) orders: OnceLock<Vec<Arc<Entry>>>,
    /// Who may run it.
    pub(super) permission: Permission,
}

/// The maintained views that a plan reads.
pub(super) struct ViewsRead {
    /// By themselves.
    pub list: Vec<RelationId>,
    /// These, and those that they are made of.
    pub with_below: OnceLock<Vec<RelationId>>,
    /// What of those that it computes depends on the session.
    pub styled: StyledViews,
}

/// Who may run a plan.
pub(super) struct Permission {
    /// What whoever runs it must be allowed.
    pub needs: Arc<Needs>,
    /// Who was found to be last.
    permitted: ArcSwapOption<Permitted>,
}

impl Permission {
    fn of(needs: Arc<Needs>) -> Permission {
        Permission { needs, permitted: ArcSwapOption::empty() }
    }

    /// Whether the role was found to have what it needs.
    pub fn is_given_to(&self, role: RoleId, catalog: &Arc<Catalog>) -> bool {
        let known = self.permitted.load();
        known.as_ref().is_some_and(|known| known.role == role && known.catalog.as_ptr() == Arc::as_ptr(catalog))
    }

    /// The role has what it needs, by this catalog.
    pub fn give(&self, role: RoleId, catalog: &Arc<Catalog>) {
        self.permitted.store(Some(Arc::new(Permitted { role, catalog: Arc::downgrade(catalog) })));
    }
}

/// A role that may run a plan, by that catalog.
struct Permitted {
    role: RoleId,
    catalog: Weak<Catalog>,
}

/// What a plan holds for.
#[derive(PartialEq, Eq)]
pub(super) struct MadeFor {
    /// The catalog's version.
    pub version: u64,
    /// Where bare names were looked for.
    pub path: Arc<SearchPath>,
    /// The version of what was known of tables' sizes.
    pub statistics: u64,
    /// For whom alone, and for what, if policies had a say.
    pub role: Option<RoleAndPurpose>,
}

/// As whom a session acts, for which purpose.
pub(super) type RoleAndPurpose = (RoleId, Option<Arc<str>>);

impl MadeFor {
    /// By what is seen; for whoever acts there alone, if `of_role`.
    pub(super) fn of(seen: &Seen, of_role: bool) -> Self {
        let actor = seen.path.actor();
        let role = of_role.then(|| (actor.role, actor.purpose.clone()));
        let (version, statistics) = (seen.catalog.version, seen.statistics.version);
        MadeFor { version, path: seen.path.clone(), statistics, role }
    }
}

impl CachedPlan {
    /// In place of one that has gone.
    fn none() -> Self {
        let made_for = MadeFor { version: 0, path: Arc::default(), statistics: 0, role: None };
        CachedPlan::new(made_for, Planned::Other, None, (Vec::new(), Arc::default()))
    }

    /// Whether it is for this catalog, and means what its text means by this search path.
    pub(super) fn is_for(&self, seen: &Seen) -> bool {
        let MadeFor { version, path, statistics, role } = &self.made_for;
        *version == seen.catalog.version
            && *statistics == seen.statistics.version
            && (Arc::ptr_eq(path, &seen.path) || *path == seen.path)
            && role.as_ref().is_none_or(|(role, purpose)| {
                let actor = seen.path.actor();
                *role == actor.role && *purpose == actor.purpose
            })
    }

    /// Whether it is for whom it was made alone.
    pub(super) fn is_of_role(&self) -> bool {
        self.made_for.role.is_some()
    }

    /// A plan for a version of the catalog and a search path.
    pub(super) fn new(
        made_for: MadeFor,
        planned: Planned,
        columns: Option<Arc<ResultColumns>>,
        (views, needs): (Vec<RelationId>, Arc<Needs>),
    ) -> Self {
        CachedPlan {
            made_for,
            planned,
            columns,
            views: ViewsRead { list: views, with_below: OnceLock::new(), styled: StyledViews::None },
            expanded: OnceLock::new(),
            automatic: OnceLock::new(),
            orders: OnceLock::new(),
            permission: Permission::of(needs),
        }
    }

    /// The plan, which computes such views.
    pub(super) fn computing(self, styled: StyledViews) -> CachedPlan {
        CachedPlan { views: ViewsRead { styled, ..self.views }, ..self }
    }
}

/// Whether a statement is planned, so that all it does is in its result or its transaction.
pub(super) fn is_repeatable(prepared: &Prepared) -> bool {
    fn reads_or_writes(planned: &Planned) -> bool {
        match planned {
            // What functions say to the client, or have sent, is not taken back.
            Planned::Query(query) => !query.calls,
            Planned::Write(plan) => !plan.source().calls,
            Planned::With(_) | Planned::CreateTableAs(..) | Planned::Described(..) => true,
            Planned::Gdpr(request, ..) => !matches!(request, GdprRequest::Forget(_) | GdprRequest::Rekey),
            Planned::CopyOut(what, _) => reads_or_writes(what),
            Planned::CopyIn(..)
            | Planned::Cursor(..)
            | Planned::Subscribe(_)
            | Planned::SubscribeCursor(..)
            | Planned::Explain(_)
            | Planned::Call(_)
            | Planned::Other => false,
        }
    }
    reads_or_writes(&prepared.plan.load().planned)
}

/// The OID that clients are told of a parameter's type.
fn told_type(param: &ColumnType) -> u32 {
    if param.domain == 0 { param.scalar.oid() } else { param.domain }
}

/// Plans a statement.
pub fn prepare(parsed: ParsedStatement, seen: &Seen, param_types: &[Option<ScalarType>]) -> Result<Prepared, SqlError> {
    let planned =
        planner::plan_statement(&parsed, seen.scope(), param_types, MaintainedViewUse::Read, &seen.statistics)?;
    let PlannedStatement { planned, params, views, needs, of_role, styled } = planned;
    let columns = result_columns(&parsed.statement, &planned);
    // COPY's rows fill the parameters of its plan; the client has none to give.
    let params = if matches!(planned, Planned::CopyIn(..)) { Vec::new() } else { params };
    let cached = CachedPlan::new(
        MadeFor::of(seen, of_role),
        planned,
        columns.clone().map(|columns| Arc::new(ResultColumns::new(columns))),
        (views, Arc::new(needs)),
    );
    Ok(Prepared {
        text: parsed.text.as_str().into(),
        offset: parsed.offset,
        parsed: parsed.clone(),
        statement: parsed.statement,
        param_oids: params.iter().map(told_type).collect(),
        param_types: params.into_iter().map(|param| param.scalar).collect(),
        plan: arc_swap::ArcSwap::from_pointee(cached.computing(styled)),
        columns,
        fixed_result: false,
        source: None,
        audited_as: OnceLock::new(),
    })
}

/// Whether a query may be a view by its parameters.
pub enum Automatic {
    /// It may.
    ByKey(ViewByKey),
    /// It may not, for this reason.
    Never(Arc<str>),
}

/// A query as a view by key. Others of the same shape share the view; which keys are asked for is its own.
pub struct ViewByKey {
    pub(super) planned: PlannedShape,
    /// Known once it was executed.
    pub(super) entry: OnceLock<Arc<Entry>>,
    /// The same, of greater ranks: as `planner::lift::RANKS_HELD` goes on.
    pub(super) wider: [OnceLock<Box<ViewByKey>>; RANKS_HELD.len() - 1],
    /// The maintained views among what it reads and what that is made of, by the catalog that its plan is for.
    pub(super) below: OnceLock<Vec<RelationId>>,
}

impl ViewByKey {
    /// Planned over this catalog, and not executed yet.
    pub(super) fn new(lifted: Lifted, catalog: &Catalog) -> ViewByKey {
        let planned = PlannedShape::new(Arc::new(lifted), catalog);
        ViewByKey { planned, entry: OnceLock::new(), wider: Default::default(), below: OnceLock::new() }
    }

    /// Queries of the same identity share the view.
    pub(super) fn identity(&self) -> &str {
        &self.planned.lifted.identity
    }
}

/// Whether a plan finds its rows by keys alone: it is as fast as a view.
pub(super) fn is_lookup(plan: &Plan) -> bool {
    match plan {
        Plan::Get { access, .. } => matches!(access, Access::Lookup { .. }),
        Plan::Mfp(input, _) => is_lookup(input),
        Plan::Constant { .. } => true,
        _ => false,
    }
}

/// Whether a plan gives rows of one relation as they are.
pub(super) fn reads_rows(plan: &Plan) -> bool {
    match plan {
        Plan::Get { .. } => true,
        Plan::Mfp(input, _) => reads_rows(input),
        _ => false,
    }
}
