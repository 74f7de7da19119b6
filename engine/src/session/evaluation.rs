//! What expressions are evaluated with, in a session.

use super::Session;
use super::env::{ClientNames, Started, StatementEnvironment};
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use planner::scalar::env::CastLists;
use planner::scalar::table_func::GivenRows;
use repr::Datum;
use std::sync::Arc;

impl Session {
    pub(super) fn eval_context(&self, params: Arc<[Datum]>, catalog: &Arc<Catalog>) -> EvalContext {
        EvalContext {
            params,
            given: GivenRows::default(),
            lists: CastLists::default(),
            environment: Arc::new(self.environment(catalog)),
        }
    }

    pub(super) fn environment(&self, catalog: &Arc<Catalog>) -> StatementEnvironment {
        let started = self.transaction_moment();
        StatementEnvironment {
            database: self.database.clone(),
            state: self.state.clone(),
            catalog: self.own(catalog),
            started: Started { transaction: started, statement: self.statement.started },
            client: ClientNames {
                login: self.client.login.clone(),
                actor: self.actor(catalog),
                database: self.client.database.clone(),
                database_id: self.client.database_id,
                backend: self.client.backend,
            },
            account: self.control.account.clone(),
            modes: self.modes(),
            acting: self.acting(),
        }
    }
}
