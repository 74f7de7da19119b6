//! A database in this process, over a folder of its own: sessions without sockets, for tests that run thousands of
//! statements. At the end the folder must pass `dogwood check`.

use engine::config::Config;
use engine::protocol::{Response, RowStream};
use engine::session::{ConnectOptions, Session};
use engine::{Engine, SqlError};
use repr::Datum;
use repr::text::{self, TextContext};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An open database.
pub struct TestDatabase {
    engine: Arc<Engine>,
    data: PathBuf,
}

/// What a statement gave: rows as text, NULL as `None`.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The command tag, where there is one.
    pub tag: String,
    /// The rows.
    pub rows: Vec<Vec<Option<String>>>,
}

impl TestDatabase {
    /// A new one.
    pub fn open(name: &str) -> TestDatabase {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let data = scratch().join(format!("dogwood-{name}-{}-{number}", std::process::id()));
        // A process of this number may have ended before it could remove its own.
        let _gone = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data).expect("data folder");
        let mut config = Config::new(data.clone());
        config.block_cache_bytes = 4 << 20;
        // What is recorded of statements is the subject of engine/tests/checks/audit.py.
        config.settings = vec![("dogwood.audit".into(), "off".into())];
        TestDatabase { engine: Engine::open(config).expect("engine opens"), data }
    }

    /// A session of the controller.
    pub fn session(&self) -> Session {
        let options = ConnectOptions { user: "controller".into(), ..ConnectOptions::default() };
        self.engine.connect(options).expect("session")
    }

    /// Stops it and gives what `dogwood check` finds in the folder. All sessions must be gone.
    pub fn close(self) -> Vec<String> {
        self.engine.shutdown().expect("everything is durable");
        drop(self.engine);
        let findings =
            engine::check::run(&self.data, &engine::RootKeySource::DataFolder).expect("the folder can be checked");
        std::fs::remove_dir_all(&self.data).expect("data folder removed");
        findings
    }
}

/// Memory, where there is some: the tests are about content, not about disks.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// Runs a query string as a client's simple query.
pub fn run(session: &mut Session, sql: &str) -> Result<Answer, SqlError> {
    let outcome = statements(session, sql);
    if let Err(error) = &outcome {
        session.fail(error);
    }
    outcome
}

fn statements(session: &mut Session, sql: &str) -> Result<Answer, SqlError> {
    let mut answer = Answer { tag: String::new(), rows: Vec::new() };
    let parsed = session.read(sql)?;
    let count = parsed.len();
    for (index, statement) in parsed.into_iter().enumerate() {
        let more = index + 1 < count;
        let prepared = session.prepare(statement, &[])?;
        let response = session.execute(&prepared, [].into(), more)?;
        answer = match response {
            Response::Empty => Answer { tag: String::new(), rows: Vec::new() },
            Response::Complete(tag) => Answer { tag, rows: Vec::new() },
            Response::Rows(stream) | Response::CopyOut(stream, _) => {
                Answer { tag: String::new(), rows: texts(stream)? }
            }
            Response::CopyIn(_) | Response::Subscribed(..) => panic!("these tests insert and select"),
        };
        if !more {
            session.complete()?;
        }
    }
    Ok(answer)
}

fn texts(stream: RowStream) -> Result<Vec<Vec<Option<String>>>, SqlError> {
    let columns = stream.columns.clone();
    let context = TextContext::default();
    stream
        .rows
        .map(|row| {
            let cells = row?.into_iter().zip(columns.iter()).map(|(datum, column)| match datum {
                Datum::Null => None,
                datum => Some(text::format(&datum, &column.column_type.scalar, &context)),
            });
            Ok(cells.collect())
        })
        .collect()
}
