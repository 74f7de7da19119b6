//! A transaction's modes: BEGIN's and SET TRANSACTION's words, and the settings `transaction_isolation` and
//! `transaction_read_only`, which are the same thing.
//!
//! Never kept among the settings: a transaction has its own, and takes them with it.

use crate::response::Response;
use crate::session::Session;
use planner::parse::utility::{IsolationLevel, TransactionModes};
use state::SqlError;
use transactions::modes::Modes;

impl Session {
    /// The transaction's modes, or those that the next one begins with.
    pub(super) fn modes(&self) -> Modes {
        self.transaction.active.as_ref().map_or_else(|| self.default_modes(), |active| active.transaction.modes)
    }

    pub(super) fn set_transaction(&mut self, said: TransactionModes, session: bool) -> Result<Response, SqlError> {
        if session {
            let modes = self.default_modes().with(said);
            let mut state = self.state.lock();
            for (setting, mode) in [
                ("default_transaction_isolation", "transaction_isolation"),
                ("default_transaction_read_only", "transaction_read_only"),
                ("default_transaction_deferrable", "transaction_deferrable"),
            ] {
                state.settings.set(setting, modes.shown(mode), false)?;
            }
        } else if self.in_block() {
            self.change_modes(self.modes().with(said))?;
        } else {
            self.notice("WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks");
        }
        Ok(Response::Complete("SET".into()))
    }

    pub(super) fn import_snapshot(&mut self, name: &str, in_script: bool) -> Result<Response, SqlError> {
        if !in_script && self.transaction.company.is_none() && !self.in_block() {
            self.notice("WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks");
        }
        let database = self.client.database_id;
        self.transaction().import_snapshot(name, database)?;
        Ok(Response::Complete("SET".into()))
    }

    /// SET of a setting that is one of the transaction's modes; `None` is DEFAULT. Whether it is one.
    pub(super) fn set_mode(&mut self, setting: &str, value: Option<&str>) -> Result<bool, SqlError> {
        if self.modes().shown(setting).is_none() {
            return Ok(false);
        }
        let invalid =
            |value: &str| SqlError::new("22023", format!("invalid value for parameter \"{setting}\": \"{value}\""));
        let is_isolation = setting.eq_ignore_ascii_case("transaction_isolation");
        let is_deferrable = setting.eq_ignore_ascii_case("transaction_deferrable");
        let mut said = TransactionModes::default();
        match (is_isolation, value) {
            (true, Some(value)) => {
                said.isolation = Some(match value.to_ascii_lowercase().as_str() {
                    "read committed" => IsolationLevel::ReadCommitted,
                    "read uncommitted" => IsolationLevel::ReadUncommitted,
                    "repeatable read" => IsolationLevel::RepeatableRead,
                    "serializable" => IsolationLevel::Serializable,
                    _ => {
                        return Err(invalid(value).hint(
                            "Available values: serializable, repeatable read, read committed, read uncommitted.",
                        ));
                    }
                });
            }
            (false, Some(value)) => {
                let on = state::settings::boolean(value).ok_or_else(|| {
                    SqlError::new("22023", format!("parameter \"{setting}\" requires a Boolean value"))
                })?;
                let mode = if is_deferrable { &mut said.deferrable } else { &mut said.read_only };
                *mode = Some(on);
            }
            (_, None) => {}
        }
        let base = match value {
            Some(_) => self.modes(),
            None if is_isolation => Modes { isolation: self.default_modes().isolation, ..self.modes() },
            None if is_deferrable => Modes { deferrable: self.default_modes().deferrable, ..self.modes() },
            None => Modes { read_only: self.default_modes().read_only, ..self.modes() },
        };
        let modes = base.with(said);
        if self.transaction.active.is_some() {
            self.change_modes(modes)?;
        }
        // Else it is of the statement's own transaction, which ends with it.
        Ok(true)
    }

    /// 25001 where the transaction has gone too far for that.
    fn change_modes(&mut self, modes: Modes) -> Result<(), SqlError> {
        let transaction = self.transaction();
        let refused = |message: &str| Err(SqlError::new("25001", message));
        if transaction.modes.isolation != modes.isolation {
            if transaction.has_begun() {
                return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
            }
            if transaction.has_savepoints() {
                return refused("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
            }
        }
        if transaction.modes.deferrable != modes.deferrable && transaction.has_begun() {
            return refused("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
        }
        if transaction.modes.read_only && !modes.read_only {
            if transaction.has_savepoints() {
                return refused("cannot set transaction read-write mode inside a read-only transaction");
            }
            if transaction.has_begun() {
                return refused("transaction read-write mode must be set before any query");
            }
        }
        transaction.modes = modes;
        Ok(())
    }
}
