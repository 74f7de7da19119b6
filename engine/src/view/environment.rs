//! What a maintained view's expressions may ask of the world: the catalog, and nothing of any session.
//!
//! Views hold the same rows for everyone, so settings are the defaults and clocks, users and sequences are
//! refused (planning has refused them before).

use planner::catalog::Catalog;
use planner::scalar::{Environment, EvalContext};
use repr::{RelationId, SequenceId, ValueError};
use std::sync::Arc;
use std::time::Duration;

struct ViewEnvironment {
    catalog: Arc<Catalog>,
}

/// The context of a view made against this catalog.
pub fn context(catalog: &Arc<Catalog>) -> EvalContext {
    EvalContext { params: Arc::from([]), environment: Arc::new(ViewEnvironment { catalog: catalog.clone() }) }
}

fn refused<T>() -> Result<T, ValueError> {
    Err(ValueError::new("0A000", "a maintained view cannot depend on a session, a clock or a sequence"))
}

impl Environment for ViewEnvironment {
    fn transaction_timestamp(&self) -> i64 {
        0
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn set_setting(&self, _name: &str, _value: &str, _local: bool) -> Result<(), ValueError> {
        refused()
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn session_user(&self) -> String {
        String::new()
    }
    fn database(&self) -> String {
        String::new()
    }
    fn backend_pid(&self) -> i32 {
        0
    }
    fn next_value(&self, _sequence: SequenceId) -> Result<i64, ValueError> {
        refused()
    }
    fn current_value(&self, _sequence: SequenceId) -> Result<i64, ValueError> {
        refused()
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        refused()
    }
    fn set_value(&self, _sequence: SequenceId, _value: i64, _is_called: bool) -> Result<(), ValueError> {
        refused()
    }
    fn random_bytes(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    fn sleep(&self, _duration: Duration) -> Result<(), ValueError> {
        refused()
    }
    fn relation_size(&self, _relation: RelationId) -> i64 {
        0
    }
}
