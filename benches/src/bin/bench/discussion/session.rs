//! A connection to one of the systems: the same prepared statements and parameters for all, and their rows.
//!
//! Statements are prepared when they are first used, and stay. A list of values (`$list`) is filled up with its last value to a power of two,
//! so that a few statements serve all lengths.

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, Statement};

use crate::mariadb::{Cell, Maria, Prepared, Refused};
use crate::server::{Failure, MariaServer, Server};

/// A system of the run.
pub enum System {
    /// Dogwood or PostgreSQL.
    Wire(Server),
    /// MariaDB.
    Maria(MariaServer),
}

/// A connection that can say how long each statement took.
pub struct Session {
    link: Link,
    /// Microseconds of each statement, if they are wanted.
    pub times: Option<BTreeMap<&'static str, Vec<f64>>>,
}

/// A connection with its prepared statements, by the place of their text in memory and the length of their list.
enum Link {
    /// To Dogwood or PostgreSQL.
    Wire(Client, BTreeMap<(usize, usize), Statement>),
    /// To MariaDB. The numbers say which parameter stands at each `?`.
    Maria(Maria, BTreeMap<(usize, usize), (Prepared, Vec<usize>)>),
}

/// A statement that has to be said differently to MariaDB.
pub struct Both {
    /// To Dogwood and PostgreSQL.
    pub wire: &'static str,
    /// To MariaDB.
    pub maria: &'static str,
}

/// A row of an answer.
pub enum Row {
    /// Of Dogwood or PostgreSQL.
    Wire(postgres::Row),
    /// Of MariaDB.
    Maria(Vec<Cell>),
}

impl System {
    /// Opens a connection.
    pub fn connect(&self) -> Result<Session, Failure> {
        let link = match self {
            System::Wire(server) => Link::Wire(server.connect()?, BTreeMap::new()),
            System::Maria(server) => Link::Maria(server.connect()?, BTreeMap::new()),
        };
        Ok(Session { link, times: None })
    }
}

impl Row {
    /// A number that may be NULL.
    pub fn optional(&self, column: usize) -> Result<Option<i64>, Failure> {
        match self {
            Row::Wire(row) => match *row.columns().get(column).ok_or("too few columns")?.type_() {
                Type::INT2 => Ok(row.try_get::<_, Option<i16>>(column)?.map(i64::from)),
                Type::INT4 => Ok(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
                _ => Ok(row.try_get(column)?),
            },
            Row::Maria(cells) => match cells.get(column) {
                Some(Cell::Int(number)) => Ok(Some(*number)),
                Some(Cell::Text(text)) => Ok(Some(text.parse()?)),
                Some(Cell::Null) => Ok(None),
                other => Err(format!("column {column} is no number: {other:?}").into()),
            },
        }
    }

    /// A number.
    pub fn int(&self, column: usize) -> Result<i64, Failure> {
        self.optional(column)?.ok_or_else(|| format!("column {column} is NULL").into())
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<&str, Failure> {
        match self {
            Row::Wire(row) => Ok(row.try_get(column)?),
            Row::Maria(cells) => match cells.get(column) {
                Some(Cell::Text(text)) => Ok(text),
                other => Err(format!("column {column} is no text: {other:?}").into()),
            },
        }
    }
}

impl Session {
    /// Rows of a query, or of an INSERT … RETURNING.
    pub fn query(&mut self, text: &'static str, parameters: &[Cell]) -> Result<Vec<Row>, Failure> {
        self.perform(text, parameters, true).map(|(rows, _)| rows)
    }

    /// A query whose last parameters are a list; nothing is asked if it is empty.
    pub fn query_list(&mut self, text: &'static str, first: &[Cell], list: &[i64]) -> Result<Vec<Row>, Failure> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let last = list[list.len() - 1];
        let padded = list.iter().copied().chain(std::iter::repeat(last)).take(list.len().next_power_of_two());
        let parameters: Vec<Cell> = first.iter().cloned().chain(padded.map(Cell::Int)).collect();
        self.query(text, &parameters)
    }

    /// How many rows a statement concerned.
    pub fn execute(&mut self, text: &'static str, parameters: &[Cell]) -> Result<u64, Failure> {
        self.perform(text, parameters, false).map(|(_, changed)| changed)
    }

    /// The same of a statement that has two texts.
    pub fn execute_either(&mut self, both: &Both, parameters: &[Cell]) -> Result<u64, Failure> {
        let text = match self.link {
            Link::Wire(..) => both.wire,
            Link::Maria(..) => both.maria,
        };
        self.execute(text, parameters)
    }

    fn perform(&mut self, text: &'static str, parameters: &[Cell], rows: bool) -> Result<(Vec<Row>, u64), Failure> {
        let started = Instant::now();
        let answer = self.link.perform(text, parameters, rows);
        if let Some(times) = &mut self.times {
            times.entry(text).or_default().push(started.elapsed().as_secs_f64() * 1e6);
        }
        answer
    }
}

impl Link {
    fn perform(&mut self, text: &'static str, parameters: &[Cell], rows: bool) -> Result<(Vec<Row>, u64), Failure> {
        let key = (text.as_ptr() as usize, parameters.len());
        let about = |failure: Failure| -> Failure { Box::new(InStatement { text, failure }) };
        match self {
            Link::Wire(client, prepared) => {
                let statement = match prepared.get(&key) {
                    Some(statement) => statement,
                    None => {
                        let statement =
                            client.prepare(&expanded(text, parameters.len())).map_err(|e| about(e.into()))?;
                        prepared.entry(key).or_insert(statement)
                    }
                };
                let values: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|cell| cell as _).collect();
                if rows {
                    let rows = client.query(statement, &values).map_err(|e| about(e.into()))?;
                    Ok((rows.into_iter().map(Row::Wire).collect(), 0))
                } else {
                    Ok((Vec::new(), client.execute(statement, &values).map_err(|e| about(e.into()))?))
                }
            }
            Link::Maria(client, prepared) => {
                let (statement, places) = match prepared.get(&key) {
                    Some(known) => known,
                    None => {
                        let (text, places) = with_question_marks(&expanded(text, parameters.len()));
                        let statement = client.prepare(&text).map_err(about)?;
                        prepared.entry(key).or_insert((statement, places))
                    }
                };
                let values: Vec<Cell> = places.iter().map(|place| parameters[*place].clone()).collect();
                let answer = client.execute(*statement, &values).map_err(about)?;
                Ok((answer.rows.into_iter().map(Row::Maria).collect(), answer.changed))
            }
        }
    }
}

/// Does a failure say that a row with such a key is there already?
pub fn is_duplicate(failure: &Failure) -> bool {
    let Some(InStatement { failure, .. }) = failure.downcast_ref() else { return false };
    let wire = failure.downcast_ref::<postgres::Error>().and_then(postgres::Error::code);
    wire == Some(&postgres::error::SqlState::UNIQUE_VIOLATION)
        || failure.downcast_ref::<Refused>().is_some_and(|refused| refused.number == 1062)
}

/// What went wrong, and in which statement.
#[derive(Debug)]
struct InStatement {
    text: &'static str,
    failure: Failure,
}

impl std::fmt::Display for InStatement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.text)
    }
}

impl std::error::Error for InStatement {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.failure)
    }
}

/// Puts as many `$n` for `$list` as there are parameters left.
fn expanded(text: &str, parameters: usize) -> String {
    let Some((before, after)) = text.split_once("$list") else { return text.into() };
    let first = before.matches('$').count();
    let places: Vec<String> = (first + 1..=parameters).map(|place| format!("${place}")).collect();
    format!("{before}{}{after}", places.join(", "))
}

/// `?` for every `$n`, and which parameter each of them is.
fn with_question_marks(text: &str) -> (String, Vec<usize>) {
    let mut parts = text.split('$');
    let mut said = parts.next().unwrap_or_default().to_string();
    let mut places = Vec::new();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        places.push(part[..digits].parse::<usize>().unwrap_or(1) - 1);
        said.push('?');
        said += &part[digits..];
    }
    (said, places)
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Cell::Null | Cell::Other => return Ok(IsNull::Yes),
            Cell::Int(number) => match *kind {
                Type::INT2 => out.extend_from_slice(&i16::try_from(*number)?.to_be_bytes()),
                Type::INT4 => out.extend_from_slice(&i32::try_from(*number)?.to_be_bytes()),
                Type::INT8 => out.extend_from_slice(&number.to_be_bytes()),
                _ => out.extend_from_slice(number.to_string().as_bytes()),
            },
            Cell::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        self.to_sql(kind, out)
    }

    fn encode_format(&self, kind: &Type) -> Format {
        match (self, kind) {
            (Cell::Int(_), &Type::INT2 | &Type::INT4 | &Type::INT8) => Format::Binary,
            _ => Format::Text,
        }
    }
}
