//! `dogwood report`: the registers of a database as one document: to print, as tables, or in the words of the Data Privacy Vocabulary.
//!
//! ```text
//! dogwood.data_map, inventory, …  ─▶ Register ─┬─▶ html    with the graph drawn
//! EXPLAIN (FORMAT JSON) COMPLIANCE ─▶ graph ───┤   csv
//!                                              └─▶ jsonld
//! ```
//! Read by a session of its own, of a running server or over a stopped one's folder. A document tells no row of a table: what
//! columns with properties say stands in it as values that were counted.

mod csv;
mod drawing;
mod html;
mod jsonld;

use engine::protocol::{ConnectOptions, ListedConnection, OutputColumn, Response, Session};
use engine::{Engine, SqlError};
use repr::datetime::Zone;
use repr::{Datum, poll};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks whether the report is still wanted.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportForm {
    /// A page to read and print, which needs nothing else.
    Html,
    /// Tables.
    Csv,
    /// JSON-LD of the Data Privacy Vocabulary.
    JsonLd,
}

impl ReportForm {
    /// All of them, by what their options and the operator's door call them.
    pub const ALL: [(&'static str, ReportForm); 3] =
        [("html", ReportForm::Html), ("csv", ReportForm::Csv), ("jsonld", ReportForm::JsonLd)];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            ReportForm::Html => "html",
            ReportForm::Csv => "csv",
            ReportForm::JsonLd => "jsonld",
        }
    }
}

/// What is to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportOrder {
    /// In which form.
    pub form: ReportForm,
    /// Of which database.
    pub database: Option<String>,
}

/// `report`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportOptions {
    /// The data folder.
    pub data: PathBuf,
    /// What of it.
    pub order: ReportOrder,
    /// Where the root key is.
    pub root_key: engine::RootKeySource,
    /// Where to; `-` is standard output.
    pub file: PathBuf,
}

/// One table of the report.
struct Register {
    /// Its heading.
    title: &'static str,
    /// By which articles it is asked for.
    articles: &'static str,
    /// What it is read from.
    relation: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<Datum>>,
}

impl Register {
    /// A column of a row.
    fn value<'r>(&self, row: &'r [Datum], column: &str) -> Option<&'r Datum> {
        let at = self.columns.iter().position(|name| name == column)?;
        row.get(at).filter(|value| !matches!(value, Datum::Null))
    }

    fn text(&self, row: &[Datum], column: &str) -> Option<String> {
        self.value(row, column).map(shown)
    }

    /// The elements of a list.
    fn list(&self, row: &[Datum], column: &str) -> Vec<String> {
        match self.value(row, column) {
            Some(Datum::Array(array)) => array.elements.iter().map(shown).collect(),
            Some(_) | None => Vec::new(),
        }
    }
}

/// All of it.
struct Document {
    database: String,
    made_at: String,
    registers: Vec<Register>,
    /// The graph, as EXPLAIN COMPLIANCE has it in JSON.
    graph: String,
}

impl Document {
    fn register(&self, relation: &str) -> Option<&Register> {
        self.registers.iter().find(|register| register.relation == relation)
    }
}

/// (title, articles, relation, query).
const REGISTERS: [(&str, &str, &str, &str); 10] = [
    (
        "Record of processing activities",
        "30",
        "dogwood.processing_activities",
        "SELECT * FROM dogwood.processing_activities",
    ),
    ("Data map", "15, 17, 30", "dogwood.data_map", "SELECT * FROM dogwood.data_map"),
    ("Inventory of personal data", "30", "dogwood.inventory", "SELECT * FROM dogwood.inventory"),
    ("Retention schedule", "5(1)e, 30(1)f", "dogwood.retention_schedule", "SELECT * FROM dogwood.retention_schedule"),
    ("Inputs of an impact assessment", "35", "dogwood.impact_assessment", "SELECT * FROM dogwood.impact_assessment"),
    ("Purposes", "5(1)b, 6", "dogwood.purposes", "SELECT * FROM dogwood.purposes"),
    ("Columns that hold properties", "13-15, 30", "dogwood.properties", "SELECT * FROM dogwood.properties"),
    ("Measures", "25, 32", "dogwood.features", "SELECT * FROM dogwood.features ORDER BY feature"),
    (
        "Recipients that are still to be told",
        "19",
        "dogwood.notices",
        "SELECT recipient, happened, count(*) AS notices, sum(rows)::bigint AS row_count, min(happened_at) AS since \
         FROM dogwood.notices WHERE told_at IS NULL GROUP BY recipient, happened ORDER BY recipient, happened",
    ),
    (
        "Erasures on this server",
        "17",
        "dogwood.erasures",
        "SELECT count(*) AS erasures, count(receipt_number) AS with_receipt, max(erased_at) AS last_erased_at, \
         count(*) FILTER (WHERE pending IS NOT NULL) AS bytes_still_leaving FROM dogwood.erasures",
    ),
];

/// The document, for as long as it is wanted.
pub fn run(engine: &Engine, order: &ReportOrder, wanted: &(dyn Fn() -> bool + Sync)) -> Result<String, SqlError> {
    let mut session = engine.connect(ConnectOptions {
        user: "controller".to_owned(),
        database: order.database.clone().unwrap_or_else(|| "postgres".to_owned()),
        any_database: false,
        settings: vec![
            ("application_name".to_owned(), "dogwood report".to_owned()),
            ("statement_timeout".to_owned(), "0".to_owned()),
        ],
        secure: true,
        connection: ListedConnection::default(),
    })?;
    let (flag, ended) = (session.cancel_flag(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = || {
            while !ended.load(Ordering::Acquire) {
                if !wanted() {
                    flag.cancel();
                }
                std::thread::park_timeout(LOOKS_EVERY);
            }
        };
        let watching = scope.spawn(watch);
        let document = read(&mut session);
        ended.store(true, Ordering::Release);
        watching.thread().unpark();
        document
    })
    .map(|document| match order.form {
        ReportForm::Html => html::page(&document),
        ReportForm::Csv => csv::tables(&document),
        ReportForm::JsonLd => jsonld::graph(&document),
    })
}

fn read(session: &mut Session) -> Result<Document, SqlError> {
    let mut registers = Vec::new();
    for (title, articles, relation, query) in REGISTERS {
        let (columns, rows) = rows_of(session, query)?;
        registers.push(Register { title, articles, relation, columns, rows });
    }
    let (columns, mut remarks) = rows_of(session, "EXPLAIN COMPLIANCE")?;
    remarks.retain(|row| row.first() != Some(&Datum::Text("info".into())));
    let title = "Remarks on the schema";
    registers.push(Register { title, articles: "5(2), 25", relation: "EXPLAIN COMPLIANCE", columns, rows: remarks });
    Ok(Document {
        database: one(session, "SELECT current_database()")?,
        made_at: one(session, "SELECT now()")?,
        registers,
        graph: one(session, "EXPLAIN (FORMAT JSON) COMPLIANCE")?,
    })
}

fn one(session: &mut Session, query: &str) -> Result<String, SqlError> {
    let (_, rows) = rows_of(session, query)?;
    Ok(rows.first().and_then(|row| row.first()).map(shown).unwrap_or_default())
}

type Fetched = (Vec<String>, Vec<Vec<Datum>>);

fn rows_of(session: &mut Session, query: &str) -> Result<Fetched, SqlError> {
    let mut found = (Vec::new(), Vec::new());
    for statement in session.read(query)? {
        let prepared = session.prepare(statement, &[])?;
        let response = session.execute(&prepared, Arc::from([]), false)?;
        if let Response::Rows(mut stream) = response {
            let _overseen = session.oversee();
            let name = |column: &OutputColumn| column.name.clone();
            let rows: Result<_, SqlError> = poll::unwinds_to(|| stream.rows.by_ref().collect());
            found = (stream.columns.iter().map(name).collect(), rows?);
        }
        session.complete()?;
    }
    Ok(found)
}

/// A value as the report shows it.
fn shown(value: &Datum) -> String {
    match value {
        Datum::Text(text) => text.to_string(),
        Datum::Bool(true) => "yes".to_owned(),
        Datum::Bool(false) => "no".to_owned(),
        Datum::Int8(number) => number.to_string(),
        Datum::Timestamptz(at) => repr::datetime::format_timestamptz(*at, &Zone::utc()),
        Datum::Array(array) => array.elements.iter().map(shown).collect::<Vec<_>>().join(", "),
        // Of other types no column is.
        _ => String::new(),
    }
}
