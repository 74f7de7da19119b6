//! The planner: (SQL, catalog) → plan. Pure: no clock, no threads, no I/O.
//!
//! A statement's trip: `parse` (text → our statement) → `resolve` (names and types → `hir`) → `lower`
//! (subqueries → joins, `mir`) → `transform` → `physical` (→ `plan`). `ownership` holds the data
//! ownership graph; `explain` prints every rung.

pub mod catalog;
pub mod delta;
mod deparse;
pub mod entry;
pub mod error;
pub mod explain;
pub mod hir;
pub mod lift;
pub mod lower;
pub mod mir;
pub mod names;
pub mod ownership;
pub mod parse;
pub mod physical;
pub mod plan;
pub mod plpgsql;
pub mod resolve;
pub mod row_term;
pub mod scalar;
pub mod statement_shape;
pub mod statistics;
pub mod subscribe;
pub mod system;
pub mod temporal;
pub mod transform;

pub use entry::{
    CopyInPlan, Explained, MaintainedViewUse, Planned, PlannedStatement, Rewrite, StyledViews, expected_rows,
    plan_arguments, plan_conversion, plan_default, plan_definition, plan_domain_condition, plan_lifted, plan_restored,
    plan_rewrite, plan_row_checks, plan_statement, plan_type, plan_type_text, plan_view,
};
pub use parse::statement::SubscribeTerms;
pub use resolve::index_predicate::index_predicates;
pub use resolve::maintainable::{check_maintainable, depends_on_session};
pub use resolve::routine_body::{check_routine, parameter_types, sql_statements};
pub use subscribe::{KeyedColumns, SubscribePlan, ToldForm};
