//! The answer of a query as text, and whether two systems gave the same one.
//!
//! Rows are compared as a bag, and cells to the letter; floating-point numbers may differ in what addition rounds.

use postgres::types::Type;
use postgres::{Client, SimpleQueryMessage};

use crate::server::Failure;

/// How far floating-point numbers may lie apart, as a part of them.
const ROUNDED: f64 = 1e-9;
/// So much of a cell that differs is shown.
const SHOWN_MAX: usize = 80;

/// What a query answered.
pub struct Answer {
    /// In order, each with its cells as PostgreSQL's protocol writes them.
    rows: Vec<Vec<Option<String>>>,
    /// Of each column, whether it holds floating-point numbers.
    floats: Vec<bool>,
}

impl Answer {
    /// Runs a query and sorts its rows.
    pub fn of(client: &mut Client, sql: &str) -> Result<Answer, Failure> {
        let columns = client.prepare(sql)?;
        let floats = columns.columns().iter().map(|column| [Type::FLOAT4, Type::FLOAT8].contains(column.type_()));
        let mut answer = Answer { rows: Vec::new(), floats: floats.collect() };
        for message in client.simple_query(sql)? {
            if let SimpleQueryMessage::Row(row) = message {
                answer.rows.push((0..row.len()).map(|column| row.get(column).map(str::to_string)).collect());
            }
        }
        answer.rows.sort_unstable();
        Ok(answer)
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Its rows with tabs between the cells, sorted.
    pub fn lines(&self) -> Vec<String> {
        let line = |row: &Vec<Option<String>>| {
            row.iter().map(|cell| cell.as_deref().unwrap_or("\\N")).collect::<Vec<_>>().join("\t")
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        lines.sort_unstable();
        lines
    }

    /// Says where it differs from what is right, if it does.
    pub fn require(&self, right: &Answer) -> Result<(), Failure> {
        if self.rows.len() != right.rows.len() {
            return Err(format!("{} rows instead of {}", self.rows.len(), right.rows.len()).into());
        }
        for (row, wanted) in self.rows.iter().zip(&right.rows) {
            let cells = row.iter().zip(wanted).zip(&self.floats);
            let differs = cells.into_iter().find(|((cell, wanted), is_float)| {
                cell != wanted && !(**is_float && is_close(cell.as_deref(), wanted.as_deref()))
            });
            if let Some(((cell, wanted), _)) = differs {
                let [cell, wanted] = [cell, wanted]
                    .map(|cell| cell.as_deref().unwrap_or("NULL").chars().take(SHOWN_MAX).collect::<String>());
                return Err(format!("a row with {cell:?} instead of {wanted:?}").into());
            }
        }
        Ok(())
    }
}

fn is_close(cell: Option<&str>, wanted: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    matches!((number(cell), number(wanted)), (Some(cell), Some(wanted)) if (cell - wanted).abs() <= ROUNDED * wanted.abs())
}
