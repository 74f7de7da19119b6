//! What expressions are evaluated with, in a session.

use super::Session;
use super::env::{ClientNames, Exportable, ShownOtherwise, Started, StatementEnvironment};
use planner::catalog::Catalog;
use planner::scalar::EvalContext;
use repr::Datum;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use std::sync::Arc;

impl Session {
    pub(super) fn eval_context(&self, params: Arc<[Datum]>, catalog: &Arc<Catalog>) -> EvalContext {
        EvalContext::within(params, Arc::new(self.environment(catalog)))
    }

    /// As `context_over`, of a query that may export what it reads.
    pub(super) fn acting_context(&self, params: Arc<[Datum]>, snapshot: &LayeredSnapshot) -> EvalContext {
        let active = self.transaction.active.as_ref();
        let context = self.context_over(params, snapshot);
        // A person's own login exports nothing, and keeps what is theirs.
        let (Some(active), Some(state), false) = (active, snapshot.held_state(), self.is_persons_own()) else {
            return context;
        };
        let mut environment = self.environment(snapshot.catalog());
        environment.acting.query.exportable =
            Some(Exportable { state, in_savepoint: active.transaction.has_savepoints() });
        EvalContext { environment: Arc::new(environment), ..context }
    }

    fn is_persons_own(&self) -> bool {
        let catalog = self.catalog();
        catalog.person_of(self.actor(&catalog).role).is_some()
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
            shown: ShownOtherwise {
                modes: self.modes(),
                has_no_styles: self.statement.has_no_styles,
                version: self.control.settings_version.clone(),
            },
            acting: self.acting(),
        }
    }
}
