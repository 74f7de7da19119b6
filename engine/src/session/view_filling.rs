//! Waiting for views to be filled: after CREATE MATERIALIZED VIEW … WITH DATA and by REFRESH.
//!
//! Nothing is locked meanwhile: the view follows commits while it is filled, and its readers compute it. CREATE waits
//! after its commit, so that a wait which is given up takes nothing back.

use crate::response::Response;
use crate::session::Session;
use planner::catalog::with_tables_below;
use planner::parse::statement::ObjectName;
use repr::RelationId;
use state::SqlError;
use state::notice::Notice;
use state::published::Published;
use state::view_states::Stage;
use std::sync::Arc;
use std::time::Duration;
use views::message::ViewRequest;

const POLL: Duration = Duration::from_millis(1);

impl Session {
    /// Waits until a view has been filled, as long as the statement may.
    pub(super) fn wait_until_filled(&self, view: RelationId) -> Result<(), SqlError> {
        loop {
            let published = self.database.latest();
            if let Some(state) = published.views.get(view) {
                match &state.stage {
                    Stage::Ready => return Ok(()),
                    Stage::Failed(error) => return Err(error.clone()),
                    Stage::Waiting => refuse_failing_below(&published, view)?,
                    Stage::Hydrating { .. } => {}
                }
            }
            self.control.account.check()?;
            std::thread::sleep(POLL);
        }
    }

    /// The same for a view that was just created and committed: what goes wrong is said, and changes nothing.
    pub(super) fn await_created(&mut self, view: RelationId) {
        let published = self.database.published.load_full();
        let Some(table) = published.catalog().table(view).filter(|table| table.is_maintained()) else { return };
        let name = table.name.clone();
        drop(published);
        let Err(error) = self.wait_until_filled(view) else { return };
        let given_up = error.code == "57014";
        let (message, detail) = if given_up {
            let detail = "The view was created, and is being filled in the background; until then it is computed.";
            (format!("stopped waiting for materialized view \"{name}\" to be filled"), detail.to_string())
        } else {
            let detail = "The view was created; whoever reads it computes it.".to_string();
            (format!("materialized view \"{name}\" could not be filled: {}", error.message), detail)
        };
        let hint = if given_up { Some("dogwood.views shows how far it is.".into()) } else { error.hint };
        self.client.notices.push(Notice { detail: Some(detail), hint, ..Notice::new("WARNING", error.code, message) });
    }

    /// REFRESH MATERIALIZED VIEW: the view must be one. It is fresh already, unless it failed: then it is filled again.
    pub(super) fn refresh(&mut self, name: &ObjectName, with_data: bool) -> Result<Response, SqlError> {
        self.require_ownership(name)?;
        self.refuse_read_only("REFRESH MATERIALIZED VIEW")?;
        let catalog = self.catalog();
        match self.table_named(&catalog, name)? {
            Some(table) if table.is_maintained() => {
                self.refill(table.id, with_data)?;
                Ok(Response::Complete("REFRESH MATERIALIZED VIEW".into()))
            }
            Some(table) if table.is_stored() => {
                Err(SqlError::new("0A000", format!("\"{}\" is not a materialized view", name.name)))
            }
            Some(_) => Err(SqlError::new("42809", format!("\"{}\" is not a table or materialized view", name.name))),
            None => Err(SqlError::new("42P01", format!("relation \"{}\" does not exist", name.dotted()))),
        }
    }

    fn refill(&mut self, view: RelationId, with_data: bool) -> Result<(), SqlError> {
        let state = |session: &Session| session.database.latest().views.get(view).cloned();
        // One that this transaction makes is filled after it.
        let Some(failed) = state(self) else { return Ok(()) };
        if matches!(failed.stage, Stage::Failed(_)) {
            self.database.ask_views(ViewRequest::Refill(view));
            let environment = self.eval_context(Arc::from([]), &self.catalog()).environment;
            while state(self).is_some_and(|now| Arc::ptr_eq(&now, &failed)) {
                environment.sleep(POLL)?;
            }
        }
        if with_data && state(self).is_some() { self.wait_until_filled(view) } else { Ok(()) }
    }
}

/// A view waits for those that it reads as long as a row of one fails: who waits for it is told so.
fn refuse_failing_below(published: &Published, view: RelationId) -> Result<(), SqlError> {
    let below = with_tables_below(published.catalog(), [view]);
    let failing = below.into_iter().find_map(|id| published.views.get(id)?.error.clone());
    failing.map_or(Ok(()), |error| Err(error.into()))
}
