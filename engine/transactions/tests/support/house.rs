//! A database in a folder that goes away, and statements made of rows: without server, session or SQL but for definitions.
#![allow(dead_code)] // Each test file uses its part.

use crate::folder::Folder;
use operators::once::{NoSystemRows, SystemRows};
use planner::catalog::Catalog;
use planner::entry::{MaintainedViewUse, Planned};
use planner::scalar::EvalContext;
use planner::statistics::KnownStatistics;
use repr::{Datum, RelationId, Row, RowKey};
use state::SqlError;
use state::account::Account;
use state::activity::Owner;
use state::config::Config;
use state::interrupt::QueryLimits;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{LockMode, Patience};
use state::overlay::Overlay;
use state::reader::Reader;
use state::shape::TableShape;
use state::validation::Mark;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use transactions::commit::{Committed, Outcome, PreparedCommit};
use transactions::database::Database;
use transactions::ddl;
use transactions::modes::{Isolation, Modes};
use transactions::ownership::Derivation;
use transactions::transaction::Transaction;
use transactions::writer::dml::{self, Evaluation};
use transactions::writer::{RowUpdate, Writer};

/// One row of numbers, the key first.
pub type Numbers = Vec<Option<i32>>;

/// An open database.
pub struct House {
    pub database: Arc<Database>,
    folder: Folder,
    held_bytes_max: usize,
}

impl House {
    pub fn new(name: &str, definitions: &str) -> House {
        House::holding(Config::new(PathBuf::new()).held_bytes_max, name, definitions)
    }

    /// Of a statement so much is held in memory.
    pub fn holding(held_bytes_max: usize, name: &str, definitions: &str) -> House {
        let folder = Folder::new(&format!("transactions-{name}"));
        let house = House { database: open(&folder, held_bytes_max), folder, held_bytes_max };
        let mut transaction = house.begin(Isolation::ReadCommitted);
        for parsed in planner::parse::parse(definitions).expect("parses") {
            let context = EvalContext::without_session(transaction.overlay().catalog().clone());
            ddl::execute(&mut transaction, &parsed.statement, context, &impatience(), false).expect("defines");
        }
        transaction.commit(&impatience()).expect("commits");
        house
    }

    /// The same folder, opened anew.
    pub fn reopened(self) -> House {
        let House { database, folder, held_bytes_max } = self;
        drop(Arc::into_inner(database).expect("nobody else uses it"));
        House { database: open(&folder, held_bytes_max), folder, held_bytes_max }
    }

    /// A transaction of a session of its own.
    pub fn begin(&self, isolation: Isolation) -> Transaction {
        let (backend, session) = (self.database.next_backend(), self.database.next_transaction());
        let holder = self.database.sessions.holders.register(backend, session, Owner::default());
        Transaction::begin(&self.database, &holder, Modes { isolation, read_only: false, deferrable: false }, 0)
    }

    /// What is published.
    pub fn snapshot(&self) -> LayeredSnapshot {
        self.database.latest_snapshot()
    }

    pub fn shape(&self, table: &str) -> Arc<TableShape> {
        let snapshot = self.snapshot();
        let id = snapshot.catalog().table_by_name(table).expect("the table is defined").id;
        snapshot.shape(id).expect("the table is compiled").clone()
    }

    pub fn key(&self, shape: &TableShape, key: i32) -> RowKey {
        shape.key_of(&self.database.store, &[Datum::Int4(key)])
    }

    /// A table's published rows.
    pub fn rows(&self, table: &str) -> Vec<Numbers> {
        rows_of(&self.snapshot(), table)
    }

    /// One transaction of one piece of writing.
    pub fn write(&self, run: impl FnOnce(&mut Transaction) -> Result<(), SqlError>) -> Result<Committed, SqlError> {
        let mut transaction = self.begin(Isolation::ReadCommitted);
        run(&mut transaction)?;
        transaction.commit(&impatience())
    }

    /// Hands transactions over while the commit stage is busy: what they wait for comes to it as one group, in this order.
    /// The last number is the commit that was published when the transaction heard its outcome.
    pub fn commit_together(
        &self,
        group: Vec<(Transaction, Box<PreparedCommit>)>,
    ) -> Vec<(Result<Committed, SqlError>, u64)> {
        let (count, (heard, outcomes)) = (group.len(), channel());
        let database = self.database.clone();
        // Refused, it is answered on this thread by the commit stage, which it thus holds.
        let (overlay, stale) = self.orphan();
        let (answered, answer) = channel();
        let hear = move |outcome: Outcome| {
            answered.send(outcome).expect("somebody listens");
            for (number, (transaction, prepared)) in group.into_iter().enumerate() {
                let (heard, database) = (heard.clone(), database.clone());
                let tell = move |outcome| {
                    let time = database.published.load().time.0;
                    heard.send((number, (outcome, time))).expect("somebody listens");
                };
                Box::new(transaction).hand_over(prepared, tell);
            }
        };
        self.database.pipeline.hand_over(overlay, stale, Box::new(hear));
        let refused = matches!(answer.recv(), Ok(Outcome::Refused(error)) if error.code == "DG001");
        assert!(refused, "what was prepared before is derived again");
        let mut all: BTreeMap<usize, _> = outcomes.iter().collect();
        assert_eq!(all.len(), count, "each hears its outcome");
        (0..count).filter_map(|number| all.remove(&number)).collect()
    }

    /// A row without owner, prepared before anything was there.
    fn orphan(&self) -> (Arc<Overlay>, Box<PreparedCommit>) {
        let schema = self.snapshot().schema().clone();
        let shapes = schema.shapes();
        let shape =
            shapes.values().find(|shape| shape.personal && !shape.table().data_subject).expect("an owned table");
        let mut row = vec![Datum::Null; shape.table().columns.len()];
        row[0] = Datum::Int4(-1);
        let mut overlay = Overlay::new(schema.clone());
        overlay.set(shape, self.key(shape, -1), None, Some(Row::pack(&row)));
        let mut derivation = Derivation::default();
        // Definitions have been committed since.
        derivation.reads.note(&Mark::Catalog);
        let based_on = repr::CommitTime(0);
        (
            Arc::new(overlay),
            Box::new(PreparedCommit {
                based_on,
                derivation,
                batch: storage::Batch::default(),
                erasures: Vec::new(),
                seen: None,
                sealed_at: None,
                audit: Vec::new(),
            }),
        )
    }
}

fn open(folder: &Folder, held_bytes_max: usize) -> Arc<Database> {
    let config = Config { block_cache_bytes: 8 << 20, held_bytes_max, ..Config::new(folder.0.clone()) };
    Database::open(config).expect("opens")
}

/// Waits for no lock.
pub fn impatience() -> Patience {
    patience(Duration::ZERO)
}

pub fn patience(timeout: Duration) -> Patience {
    Patience { timeout: Some(timeout), deadline: None, cancel: Arc::default(), insists_from: None }
}

pub fn datums(row: &[Option<i32>]) -> Vec<Datum> {
    row.iter().map(|value| value.map_or(Datum::Null, Datum::Int4)).collect()
}

pub fn numbers(shape: &TableShape, row: &Row) -> Numbers {
    numbers_of(&shape.unpack(row))
}

fn numbers_of(row: &[Datum]) -> Numbers {
    let number = |datum: &Datum| match datum {
        Datum::Null => None,
        Datum::Int4(number) => Some(*number),
        other => panic!("a column of numbers holds {other:?}"),
    };
    row.iter().map(number).collect()
}

/// A table's rows in a state, sorted.
pub fn rows_of(snapshot: &LayeredSnapshot, table: &str) -> Vec<Numbers> {
    let id = snapshot.catalog().table_by_name(table).expect("the table is defined").id;
    let shape = snapshot.shape(id).expect("the table is compiled").clone();
    let rows = snapshot.scan(shape.table()).expect("reads");
    let mut rows: Vec<Numbers> = rows.map(|row| numbers(&shape, &row.expect("reads").1)).collect();
    rows.sort();
    rows
}

/// One statement; what it did is taken back if it fails.
pub fn statement<T>(
    transaction: &mut Transaction,
    patience: &Patience,
    run: impl FnOnce(&mut Writer<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let mark = transaction.mark();
    let context = EvalContext::without_session(transaction.overlay().catalog().clone());
    let mut writer = Writer::new(transaction, context, patience.clone());
    let outcome = run(&mut writer).and_then(|done| writer.finish().map(|()| done));
    if outcome.is_err() {
        transaction.roll_back_to(mark);
    }
    outcome
}

/// INSERT of some rows.
pub fn insert(transaction: &mut Transaction, table: RelationId, rows: &[Numbers]) -> Result<(), SqlError> {
    statement(transaction, &impatience(), |writer| {
        writer.lock_table(table)?;
        let shape = writer.shape(table)?;
        let checks = writer.row_checks(&shape)?;
        let mut full: Vec<Vec<Datum>> = rows.iter().map(|row| datums(row)).collect();
        full.iter_mut().try_for_each(|row| writer.complete(&shape, &checks, row, None))?;
        writer.insert_rows(&shape, &full)?;
        writer.pass_changed()
    })
}

/// UPDATE of the rows with these keys to what they become; keys that are not there are passed over.
pub fn update(transaction: &mut Transaction, table: RelationId, rows: &[(i32, Numbers)]) -> Result<usize, SqlError> {
    statement(transaction, &impatience(), |writer| {
        writer.lock_table(table)?;
        let shape = writer.shape(table)?;
        let checks = writer.row_checks(&shape)?;
        let mut updates = Vec::new();
        for (key, row) in rows {
            let row_key = shape.key_of(&writer.transaction.database().store, &[Datum::Int4(*key)]);
            let Some(before) = writer.lock_row(&shape, &row_key, LockMode::Exclusive)? else { continue };
            let mut after = datums(row);
            writer.complete(&shape, &checks, &mut after, Some(&before))?;
            updates.push(RowUpdate { row_key, before, after });
        }
        writer.update_rows(&shape, &updates)?;
        writer.pass_changed()?;
        Ok(updates.len())
    })
}

/// DELETE of the rows with these keys.
pub fn delete(transaction: &mut Transaction, table: RelationId, keys: &[i32]) -> Result<usize, SqlError> {
    statement(transaction, &impatience(), |writer| {
        writer.lock_table(table)?;
        let shape = writer.shape(table)?;
        let mut count = 0;
        for key in keys {
            let row_key = shape.key_of(&writer.transaction.database().store, &[Datum::Int4(*key)]);
            if let Some(row) = writer.lock_row(&shape, &row_key, LockMode::Exclusive)? {
                writer.delete_row(&shape, &row_key, &row)?;
                count += 1;
            }
        }
        writer.pass_changed()?;
        Ok(count)
    })
}

/// A planned write, as a client's statement runs it: how many rows it was about.
pub fn execute(transaction: &mut Transaction, sql: &str, patience: &Patience) -> Result<usize, SqlError> {
    let parsed = planner::parse::parse(sql).expect("parses").swap_remove(0);
    let catalog = transaction.overlay().catalog().clone();
    let planned = planner::plan_statement(&parsed, &catalog, &[], MaintainedViewUse::Read, KnownStatistics::none())?;
    let Planned::Write(plan) = planned.planned else { panic!("{sql} writes") };
    let limits = QueryLimits { account: Account::new(Arc::default(), None, 1 << 30), ended: Arc::new(|| None) };
    let system = |_: &Arc<Catalog>, _: &EvalContext| -> Arc<dyn SystemRows> { Arc::new(NoSystemRows) };
    let evaluation = Evaluation { limits: &limits, system: &system, profile: None };
    let mark = transaction.mark();
    let mut writer = Writer::new(transaction, EvalContext::without_session(catalog), patience.clone());
    let written = dml::execute(&mut writer, &plan, &evaluation);
    if written.is_err() {
        transaction.roll_back_to(mark);
    }
    written.map(|written| written.rows)
}
