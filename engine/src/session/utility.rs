//! Statements that are neither queries nor writes: transactions, settings, cursors, prepared statements,
//! DDL, and the commands that have nothing to do here.

use crate::response::{Response, RowStream, RowTag, text_rows};
use crate::session::cursor::Cursor;
use crate::session::env::RESTORING;
use crate::session::plan::Prepared;
use crate::session::result_columns::text_columns;
use crate::session::statements::deallocated;
use crate::session::{Active, Company, Session, roles};
use planner::catalog::{Catalog, Privilege, RoleKind, with_tables_below};
use planner::parse::statement::{CtxCommand, DiscardTarget, ObjectName, Statement};
use planner::parse::utility::{Fetch, FetchDirection, LockTable, Set, Show, TableLockMode, TransactionModes};
use repr::Datum;
use state::SqlError;
use state::answer::QueryRows;
use state::locks::{LockKey, LockMode};
use state::notifications::Listening;
use state::settings::{Settings, spelled};
use std::sync::Arc;
use transactions::ddl;
use transactions::transaction::Transaction;
use transactions::writer::foreign_key;

fn complete(tag: &str) -> Result<Response, SqlError> {
    Ok(Response::Complete(tag.into()))
}

impl Session {
    pub(super) fn utility(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        if let Some(command) = prepared.statement.runs_alone() {
            self.refuse_company(command, in_script)?;
        }
        match &prepared.statement {
            Statement::Begin(begin) => self.begin(begin.tag, begin.modes),
            Statement::Ctx(CtxCommand::Start) => self.begin("CTX START", TransactionModes::default()),
            Statement::Commit { chain } => self.finish_block(true, *chain, "COMMIT"),
            Statement::Ctx(CtxCommand::Commit) => self.finish_block(true, false, "CTX COMMIT"),
            Statement::Rollback { chain } => self.finish_block(false, *chain, "ROLLBACK"),
            Statement::Ctx(CtxCommand::Rollback) => self.finish_block(false, false, "CTX ROLLBACK"),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name),
            Statement::RollbackToSavepoint(name) => self.roll_back_to_savepoint(name),
            Statement::TwoPhaseCommit => Err(SqlError::unsupported("two-phase commit")),
            Statement::SetTransaction { modes, session } => self.set_transaction(*modes, *session),
            Statement::SetTransactionSnapshot(name) => self.import_snapshot(name, in_script),
            Statement::SetConstraints { names, deferred } => {
                self.set_constraints(names.as_deref(), *deferred, in_script)
            }
            Statement::Set(set) => self.set_statement(set, in_script),
            Statement::Reset(Some(name)) if self.set_mode(name, None)? => complete("RESET"),
            Statement::Reset(name) => self.reset(name.as_deref()),
            Statement::Show(show) => self.show(show),
            Statement::Discard(target) => self.discard(*target),
            Statement::Prepare { name, types, statement, text } => {
                self.sql_prepare(name, types, statement, text, prepared.source().into())?;
                complete("PREPARE")
            }
            Statement::Execute { name, arguments } => {
                let (executed, values) = self.executed(name, arguments, &params)?;
                self.nested(|session| session.run(&executed, values, in_script))
            }
            Statement::Deallocate(None) => {
                self.state.lock().statements.remove_all();
                complete("DEALLOCATE ALL")
            }
            Statement::Deallocate(Some(name)) => {
                deallocated(self.close_statement(name), name)?;
                complete("DEALLOCATE")
            }
            Statement::Fetch(fetch) => self.fetch(fetch),
            Statement::Close(name) => self.close(name.as_deref()),
            Statement::Request(request) => self.request_statement(request),
            Statement::ExplainCompliance { format } => self.explain_compliance(*format),
            Statement::ExplainDataflow { format } => self.explain_dataflow(*format),
            Statement::LockTable(lock) => self.lock_tables(lock),
            Statement::Vacuum(vacuum) => self.vacuum(vacuum),
            Statement::Analyze(analyze) => self.analyze_tables(&analyze.tables, "ANALYZE"),
            Statement::Checkpoint => self.checkpoint(),
            Statement::Reindex { names, .. } => {
                self.maintained(names.relation.as_slice(), names.schema.as_ref(), "REINDEX")
            }
            Statement::RefreshView { name, with_data } => self.refresh(name, *with_data),
            Statement::Cluster { .. } => complete("CLUSTER"),
            Statement::Listen(channel) => self.listen(Listening::To(channel.as_str().into()), "LISTEN"),
            Statement::Unlisten(Some(channel)) => self.listen(Listening::NoMoreTo(channel.as_str().into()), "UNLISTEN"),
            Statement::Unlisten(None) => self.listen(Listening::ToNothing, "UNLISTEN"),
            Statement::Notify { channel, payload } => self.notify(channel, payload),
            Statement::Unsupported { command } => Err(SqlError::unsupported(command)),
            Statement::Do(block) => self.do_block(block),
            statement => self.ddl(statement),
        }
    }

    fn checkpoint(&mut self) -> Result<Response, SqlError> {
        self.require_controller_or(RoleKind::Operator.role(), "execute CHECKPOINT")?;
        self.database.store.flush()?;
        complete("CHECKPOINT")
    }

    fn savepoint(&mut self, name: &str) -> Result<Response, SqlError> {
        self.block("SAVEPOINT")?.savepoint(name.to_owned());
        self.state.lock().savepoint();
        complete("SAVEPOINT")
    }

    fn release_savepoint(&mut self, name: &str) -> Result<Response, SqlError> {
        let position = self.block("RELEASE SAVEPOINT")?.release_savepoint(name)?;
        self.state.lock().release_savepoint(position);
        complete("RELEASE")
    }

    fn roll_back_to_savepoint(&mut self, name: &str) -> Result<Response, SqlError> {
        let (position, cursors) = self.block("ROLLBACK TO SAVEPOINT")?.roll_back_to_savepoint(name)?;
        for cursor in cursors {
            self.cursors.open.remove(&cursor);
            self.cursors.subscribed.remove(&cursor);
        }
        self.state.lock().roll_back_to_savepoint(position);
        if let Some(active) = &mut self.transaction.active {
            active.failed = false;
        }
        complete("ROLLBACK")
    }

    fn set_constraints(
        &mut self,
        names: Option<&[ObjectName]>,
        deferred: bool,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        if let Some(names) = names {
            check_constraint_names(&self.own(&self.catalog()), names, deferred)?;
        }
        if !in_script && self.transaction.company.is_none() && !self.in_block() {
            self.notice("WARNING", "25P01", "SET CONSTRAINTS can only be used in transaction blocks");
        }
        let names: Option<Vec<String>> = names.map(|names| names.iter().map(|name| name.name.clone()).collect());
        let patience = self.patience();
        let transaction = self.transaction();
        if !deferred {
            foreign_key::check_deferred(transaction, &patience, names.as_deref())?;
        }
        transaction.pending.constraint_modes.push((names, deferred));
        complete("SET CONSTRAINTS")
    }

    fn set_statement(&mut self, set: &Set, in_script: bool) -> Result<Response, SqlError> {
        let value_of = |values: &Vec<_>| self.state.lock().settings.value_of(&set.name, values);
        let value = set.values.as_ref().map(value_of).transpose()?;
        self.check_setting(&set.name, value.as_deref())?;
        if set.local && !in_script && self.transaction.company.is_none() && !self.in_block() {
            self.notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks");
        }
        if set.local && set.name.eq_ignore_ascii_case(RESTORING) {
            return Err(SqlError::unsupported(format!("SET LOCAL {RESTORING}"))
                .hint("use SET, and SET it off when the rows and labels are in"));
        }
        if !self.set_mode(&set.name, value.as_deref())? {
            self.set(|settings| settings.set(&set.name, value.as_deref(), set.local))?;
        }
        complete("SET")
    }

    /// Whether this login may set it.
    fn check_setting(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let state = self.state.lock();
        self.client.login.check_setting(name, value, &state.settings, (&*catalog, self.client.database_id))
    }

    fn reset(&mut self, name: Option<&str>) -> Result<Response, SqlError> {
        if let Some(name) = name {
            self.check_setting(name, None)?;
        }
        self.set(|settings| match name {
            Some(name) => settings.set(name, None, false),
            None => {
                settings.reset_all();
                Ok(())
            }
        })?;
        complete("RESET")
    }

    fn close(&mut self, name: Option<&str>) -> Result<Response, SqlError> {
        match name {
            None => {
                self.cursors.open.clear();
                self.cursors.subscribed.clear();
                complete("CLOSE CURSOR ALL")
            }
            Some(name) if self.close_cursor(name) => complete("CLOSE CURSOR"),
            Some(name) => Err(no_cursor(name)),
        }
    }

    /// Changes settings. A restore that ends thereby has its labels take effect, or nothing is changed.
    fn set(&mut self, change: impl FnOnce(&mut Settings) -> Result<(), SqlError>) -> Result<(), SqlError> {
        let ends = {
            let mut state = self.state.lock();
            let before = state.settings.is_on(RESTORING);
            change(&mut state.settings)?;
            before && !state.settings.is_on(RESTORING)
        };
        if ends { self.end_restoring() } else { Ok(()) }
    }

    fn end_restoring(&mut self) -> Result<(), SqlError> {
        let patience = self.patience();
        self.transaction();
        let context = self.eval_context(Arc::from([]), &self.catalog());
        let transaction = self.transaction();
        let mark = transaction.mark();
        transaction.shield();
        let laid_anew = match ddl::end_restoring(transaction, context, &patience) {
            Ok(laid_anew) => laid_anew,
            Err(error) => {
                self.transaction().roll_back_to(mark);
                return Err(error);
            }
        };
        // At once: SET is answered when every row has its owner.
        self.complete()?;
        if self.transaction.active.is_none() {
            // What was loaded stood under the database's own key; it leaves the files before anyone is forgotten.
            let ranges: Vec<_> = laid_anew.into_iter().map(storage::Reclaim::Relation).collect();
            self.database.store.reclaim(&ranges)?;
        }
        Ok(())
    }

    pub(super) fn ddl(&mut self, statement: &Statement) -> Result<Response, SqlError> {
        self.refuse_read_only("DDL")?;
        let checked = match self.checked_start(statement)? {
            Some(checked) => Some(checked),
            None => roles::with_kept_password(statement)?,
        };
        let person = self.with_person(checked.as_ref().unwrap_or(statement))?;
        let checked = person.or(checked);
        let statement = checked.as_ref().unwrap_or(statement);
        let emptied = self.empty_database(statement)?;
        let patience = self.patience();
        let restoring = self.state.lock().settings.is_on(RESTORING);
        self.transaction();
        let context = self.eval_context(Arc::from([]), &self.catalog());
        let in_block = self.in_block();
        let transaction = self.transaction();
        let mark = transaction.mark();
        // An erasure waits for it, rather than that it is begun again for each of them.
        transaction.shield();
        let outcome = ddl::execute(transaction, statement, context, &patience, restoring);
        let outcome = outcome.and_then(|done| self.body_checked(statement).map(|()| done));
        let transaction = self.transaction();
        if in_block {
            transaction.unshield();
        }
        match outcome {
            Ok(done) => {
                self.audit_defined(statement, done.emptied);
                self.client.notices.extend(done.notices);
                self.follow_hold(statement)?;
                self.transaction.dropped = emptied.or(self.transaction.dropped);
                if let Statement::CreateView(create) = statement
                    && create.materialized
                    && create.upkeep.with_data
                {
                    let catalog = self.catalog();
                    let made = self.table_made(&catalog, &create.name, false).map(|view| view.id);
                    self.transaction.unfilled.extend(made);
                }
                Ok(Response::Complete(done.tag))
            }
            Err(error) => {
                self.transaction().undo_failed(mark);
                Err(error)
            }
        }
    }

    fn begin(&mut self, tag: &str, said: TransactionModes) -> Result<Response, SqlError> {
        if self.transaction.active.as_ref().is_some_and(|active| active.block) {
            self.notice("WARNING", "25001", "there is already a transaction in progress");
            return complete(tag);
        }
        let modes = self.default_modes().with(said);
        let transaction = self.transaction();
        // Statements of the same query string before BEGIN belong to the block.
        transaction.modes = modes;
        if let Some(active) = &mut self.transaction.active {
            active.block = true;
        }
        complete(tag)
    }

    fn finish_block(&mut self, commit: bool, chain: bool, tag: &str) -> Result<Response, SqlError> {
        if !self.transaction.active.as_ref().is_some_and(|active| active.block) {
            if chain {
                return Err(SqlError::new("25P01", format!("{tag} AND CHAIN can only be used in transaction blocks")));
            }
            self.notice("WARNING", "25P01", "there is no transaction in progress");
        }
        // Without a block, what statements before it in the same string or before the next Sync have done is ended all the same.
        let Some(active) = self.transaction.active.take() else { return complete(tag) };
        let modes = active.transaction.modes;
        let committed = self.end(active, commit)?;
        if chain {
            let began = Transaction::begin(&self.database, &self.control.holder, modes, self.statement.started);
            let transaction = Box::new(began);
            self.transaction.active = Some(Active { transaction, block: true, failed: false });
        }
        // COMMIT of a failed block is a rollback, and says so.
        complete(if commit && !committed { "ROLLBACK" } else { tag })
    }

    fn block(&mut self, what: &str) -> Result<&mut Transaction, SqlError> {
        match &mut self.transaction.active {
            Some(active) if active.block => Ok(&mut active.transaction),
            Some(_) | None => Err(SqlError::new("25P01", format!("{what} can only be used in transaction blocks"))),
        }
    }

    pub(super) fn in_block(&self) -> bool {
        self.transaction.active.as_ref().is_some_and(|active| active.block)
    }

    /// 25001 where the statement would share its transaction with others.
    fn refuse_company(&self, command: &str, in_script: bool) -> Result<(), SqlError> {
        if in_script || self.in_block() || self.transaction.company == Some(Company::Script) {
            return Err(SqlError::new("25001", format!("{command} cannot run inside a transaction block")));
        }
        if self.transaction.company == Some(Company::Pipeline) {
            return Err(SqlError::new("25001", format!("{command} cannot be executed within a pipeline")));
        }
        Ok(())
    }

    fn lock_tables(&mut self, lock: &LockTable) -> Result<Response, SqlError> {
        self.block("LOCK TABLE")?;
        let (catalog, patience) = (self.catalog(), self.patience());
        for name in &lock.tables {
            let missing = || SqlError::new("42P01", format!("relation \"{}\" does not exist", name.dotted()));
            let table = self.table_named(&catalog, name)?.ok_or_else(missing)?;
            let reads = lock.mode <= TableLockMode::RowShare;
            let writes = [Privilege::Insert, Privilege::Update, Privilege::Delete, Privilege::Truncate];
            let any = if reads { &[Privilege::Select][..] } else { &[] };
            self.require_any(table.id, &[any, &writes].concat())?;
            if table.is_maintained() {
                return Err(SqlError::new("42809", format!("cannot lock relation \"{}\"", name.name))
                    .detail("This operation is not supported for materialized views."));
            }
            // Readers take no locks: the weaker modes guard against DDL as a writer's own lock does.
            let mode = if lock.mode >= TableLockMode::Share { LockMode::Exclusive } else { LockMode::Shared };
            let transaction = self.transaction();
            for relation in with_tables_below(&catalog, [table.id]) {
                let key = LockKey::Table(relation);
                if !lock.no_wait {
                    transaction.lock(key, mode, &patience)?;
                } else if !transaction.database().sessions.locks.try_lock(transaction.asker(), &key, mode) {
                    let message = format!("could not obtain lock on relation \"{}\"", name.name);
                    return Err(SqlError::new("55P03", message));
                }
            }
        }
        complete("LOCK TABLE")
    }

    fn show(&mut self, show: &Show) -> Result<Response, SqlError> {
        match show {
            Show::All => {
                let rows = self.state.lock().settings.all();
                let modes = self.modes();
                let shown = |[name, value, description]: [String; 3]| {
                    let value = modes.shown(&name).map_or(value, str::to_string);
                    vec![name, value, description]
                };
                let rows = rows.into_iter().map(shown).collect();
                Ok(text_rows(text_columns(&["name", "setting", "description"]), rows, "SHOW"))
            }
            Show::Setting(name) if self.modes().shown(name).is_some() => {
                let value = self.modes().shown(name).unwrap_or_default().to_string();
                Ok(text_rows(text_columns(&[spelled(name)]), vec![vec![value]], "SHOW"))
            }
            Show::Setting(name) if name == "dogwood.last_flushes" => {
                let flushes = self.transaction.committed.flushes;
                let value = format!("log {} us, keys {} us", flushes.log.as_micros(), flushes.keys.as_micros());
                Ok(text_rows(text_columns(&[name]), vec![vec![value]], "SHOW"))
            }
            Show::Setting(name) => {
                let (shown, value) = self.state.lock().settings.show(name)?;
                Ok(text_rows(text_columns(&[&shown]), vec![vec![value]], "SHOW"))
            }
        }
    }

    fn discard(&mut self, target: DiscardTarget) -> Result<Response, SqlError> {
        match target {
            DiscardTarget::All => {
                self.cursors.open.clear();
                self.cursors.subscribed.clear();
                {
                    let mut state = self.state.lock();
                    state.statements.remove_all();
                    state.forget_sequences();
                }
                self.database.sessions.locks.unlock_all_advisory(self.control.holder.session);
                self.listen_to_nothing();
                self.transaction().discard_temporary();
                self.set(|settings| {
                    settings.reset_all();
                    settings.set("role", None, false)?;
                    settings.set("session_authorization", None, false)
                })?;
                complete("DISCARD ALL")
            }
            DiscardTarget::Plans => complete("DISCARD PLANS"),
            DiscardTarget::Sequences => {
                self.state.lock().forget_sequences();
                complete("DISCARD SEQUENCES")
            }
            DiscardTarget::Temp => {
                self.transaction().discard_temporary();
                complete("DISCARD TEMP")
            }
        }
    }

    /// At COMMIT, holdable cursors take their rows with them.
    pub(super) fn hold_cursors(&mut self) -> Result<(), SqlError> {
        self.cursors.open.values_mut().filter(|cursor| cursor.declared.hold).try_for_each(Cursor::hold_rows)
    }

    /// The end of a transaction closes its cursors, but those held over a commit.
    pub(super) fn close_cursors(&mut self, committed: bool) {
        self.cursors.open.retain(|_, cursor| cursor.declared.hold && (committed || cursor.declared.held));
        self.cursors.open.values_mut().for_each(|cursor| cursor.declared.held = true);
        self.cursors.subscribed.clear();
    }

    fn fetch(&mut self, fetch: &Fetch) -> Result<Response, SqlError> {
        if let Some(subscribed) = self.cursors.subscribed.get_mut(&fetch.cursor) {
            let rows_max = match fetch.direction {
                FetchDirection::ForwardAll => u64::MAX,
                FetchDirection::Forward(count) if count > 0 => count.unsigned_abs(),
                _ => return Err(SqlError::new("55000", "subscriptions can only be fetched forward")),
            };
            let timeout = fetch.timeout.as_deref().map(timeout).transpose()?;
            let rows = subscribed.fetch(rows_max, timeout, self.statement.deadlines.statement)?;
            if fetch.is_move {
                return complete(&format!("MOVE {}", rows.len()));
            }
            let in_hand = subscribed.in_hand();
            return Ok(Response::Rows(RowStream {
                columns: subscribed.columns().clone(),
                rows: QueryRows::holding(rows, in_hand),
                tag: RowTag::Counted("FETCH"),
            }));
        }
        if fetch.timeout.is_some() {
            return Err(SqlError::unsupported("FETCH … WITH (timeout), which is for subscriptions,"));
        }
        let cursor = self.cursors.open.get_mut(&fetch.cursor).ok_or_else(|| no_cursor(&fetch.cursor))?;
        // Until they are on the client's line, an erasure waits for the rows that it gives.
        let in_hand = Arc::new(self.control.holder.hold(cursor.opened_at));
        if let Err(ended) = self.database.check_not_ended(cursor.opened_at) {
            // Its rows may be of the person forgotten: they go with it.
            self.cursors.open.remove(&fetch.cursor);
            return Err(ended);
        }
        if fetch.is_move && matches!(fetch.direction, FetchDirection::Forward(0) | FetchDirection::Relative(0)) {
            // It goes nowhere, which any cursor can.
            return complete(&format!("MOVE {}", usize::from(cursor.is_on_row())));
        }
        let rows = cursor.fetch(fetch.direction)?;
        if fetch.is_move {
            return complete(&format!("MOVE {}", rows.len()));
        }
        self.cursors.in_hand = Some(in_hand.clone());
        Ok(Response::Rows(RowStream {
            columns: cursor.columns().clone(),
            rows: QueryRows::holding(rows, Some(in_hand)),
            tag: RowTag::Counted("FETCH"),
        }))
    }
}

/// 42704 for a name that no constraint has, 42809 for one that cannot be put off but is to be.
fn check_constraint_names(catalog: &Catalog, names: &[ObjectName], deferred: bool) -> Result<(), SqlError> {
    for name in names {
        let constraints = catalog.relations.values().flat_map(|table| {
            let keys = table.foreign_keys.iter().map(|key| &key.constraint);
            let unique = table.indexes.iter().filter_map(|index| index.constraint.as_ref());
            keys.chain(unique).chain(table.checks.iter().map(|check| &check.constraint))
        });
        let found: Vec<_> = constraints.filter(|constraint| constraint.name == name.name).collect();
        if found.is_empty() {
            return Err(SqlError::new("42704", format!("constraint \"{}\" does not exist", name.name)));
        }
        if deferred && found.iter().any(|constraint| !constraint.deferrable) {
            return Err(SqlError::new("42809", format!("constraint \"{}\" is not deferrable", name.name)));
        }
    }
    Ok(())
}

/// The time that a FETCH waits.
fn timeout(text: &str) -> Result<std::time::Duration, SqlError> {
    let invalid = || SqlError::new("22023", format!("invalid timeout \"{text}\"")).hint("such as '500ms' or '1s'");
    let number = text.trim().trim_end_matches(|last: char| !last.is_ascii_digit());
    let unit = text.trim()[number.len()..].trim();
    let count: u64 = number.parse().map_err(|_| invalid())?;
    let milliseconds = match unit {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        _ => return Err(invalid()),
    };
    Ok(std::time::Duration::from_millis(count.saturating_mul(milliseconds)))
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}
