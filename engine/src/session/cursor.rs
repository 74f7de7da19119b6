//! SQL cursors: DECLARE's query, pulled by FETCH and MOVE. Between the session and a one-shot's rows.
//!
//! Positions are PostgreSQL's: before the first row, on a row, after the last. Only a SCROLL cursor keeps the
//! rows that it has given, to go back. Never runs a query by itself; subscriptions are not cursors of this kind.

use planner::hir::OutputColumn;
use planner::parse::utility::FetchDirection;
use planner::resolve::positioned::CursorTables;
use planner::scalar::ListedCursor;
use repr::{CommitTime, Datum};
use state::SqlError;
use state::answer::QueryRows;
use std::sync::Arc;

/// How a cursor was declared.
#[derive(Clone, Default)]
pub struct Declared {
    /// The statement.
    pub text: Arc<str>,
    /// SCROLL
    pub scroll: bool,
    /// WITH HOLD
    pub hold: bool,
    /// Whether the transaction that declared it has committed.
    pub held: bool,
    /// BINARY
    pub binary: bool,
    /// In microseconds since 2000-01-01.
    pub at: i64,
}

/// Whose rows a cursor gives.
#[derive(Clone, Default)]
pub struct RowsOf {
    /// Their tables: the row keys stand behind its columns.
    pub tables: CursorTables,
    /// How many rows of the transaction had moved when it was opened.
    pub moved_before: usize,
}

/// An open cursor.
pub struct Cursor {
    columns: Arc<[OutputColumn]>,
    rows: QueryRows,
    rows_of: RowsOf,
    /// The rows given so far, of a SCROLL cursor; of another the last one's keys alone.
    seen: Vec<Vec<Datum>>,
    /// How it was declared: WITH HOLD outlives its transaction.
    pub declared: Declared,
    /// No older than its snapshot: a FORGET after it ends the cursor.
    pub opened_at: CommitTime,
    /// 0 before the first row, n on the nth, `end` + 1 after the last.
    position: usize,
    /// The number of rows, once it is known.
    end: Option<usize>,
}

impl Cursor {
    /// Before the first row.
    pub fn new(columns: Arc<[OutputColumn]>, rows: QueryRows, declared: Declared, opened_at: CommitTime) -> Cursor {
        let rows_of = RowsOf::default();
        Cursor { columns, rows, rows_of, seen: Vec::new(), declared, opened_at, position: 0, end: None }
    }

    /// With row keys behind its columns.
    #[must_use]
    pub fn of_tables(self, rows_of: RowsOf) -> Cursor {
        Cursor { rows_of, ..self }
    }

    /// Whose rows it gives.
    pub fn rows_of(&self) -> &RowsOf {
        &self.rows_of
    }

    /// The keys of the row that it stands on, in the order of its tables; NULL for a table that has no part in it.
    pub fn current_keys(&self) -> Option<&[Datum]> {
        let row = match (self.is_on_row(), self.declared.scroll) {
            (false, _) => return None,
            (true, true) => self.seen.get(self.position - 1)?,
            (true, false) => self.seen.last()?,
        };
        row.get(row.len() - self.rows_of.tables.tables.len()..)
    }

    /// As `pg_cursors` shows it.
    pub(crate) fn listed(&self, name: &str) -> ListedCursor {
        let Declared { text, scroll, hold, binary, at, .. } = self.declared.clone();
        ListedCursor { name: name.to_owned(), text: text.to_string(), hold, binary, scroll, made_at: at }
    }

    /// The columns of its rows.
    pub fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// Moves, and gives the rows that PostgreSQL gives on the way.
    pub fn fetch(&mut self, direction: FetchDirection) -> Result<Vec<Vec<Datum>>, SqlError> {
        let mut taken = Vec::new();
        match direction {
            FetchDirection::Forward(0) | FetchDirection::Relative(0) => self.again(&mut taken)?,
            FetchDirection::Forward(count) if count > 0 => self.forward(count.unsigned_abs(), Some(&mut taken))?,
            FetchDirection::Forward(count) => self.backward(count.unsigned_abs(), Some(&mut taken))?,
            FetchDirection::ForwardAll => self.forward(u64::MAX, Some(&mut taken))?,
            FetchDirection::BackwardAll => self.backward(u64::MAX, Some(&mut taken))?,
            FetchDirection::Relative(count) if count > 0 => {
                self.forward(count.unsigned_abs() - 1, None)?;
                self.forward(1, Some(&mut taken))?;
            }
            FetchDirection::Relative(count) => {
                self.backward(count.unsigned_abs() - 1, None)?;
                self.backward(1, Some(&mut taken))?;
            }
            FetchDirection::Absolute(count) if count >= 0 => self.absolute(count.unsigned_abs(), &mut taken)?,
            FetchDirection::Absolute(count) => {
                self.check_scroll()?;
                self.forward(u64::MAX, None)?;
                self.backward(count.unsigned_abs() - 1, None)?;
                self.backward(1, Some(&mut taken))?;
            }
        }
        Ok(taken)
    }

    /// Whether it stands on a row, rather than before the first or after the last.
    pub(crate) fn is_on_row(&self) -> bool {
        self.position > 0 && self.end.is_none_or(|end| self.position <= end)
    }

    /// Drops its rows and what they are read from; whoever asks for one is to hear why.
    pub fn release(&mut self) {
        self.rows = QueryRows::none();
        self.seen = Vec::new();
        self.end = Some(self.position);
    }

    /// Reads the rest into memory, so that the cursor can outlive its snapshot (WITH HOLD at COMMIT).
    pub(crate) fn hold_rows(&mut self) -> Result<(), SqlError> {
        let rest = self.rows.by_ref().collect::<Result<Vec<_>, _>>()?;
        self.rows = QueryRows::new(rest.into_iter().map(Ok));
        Ok(())
    }

    /// FETCH 0: the row that it stands on, once more.
    fn again(&mut self, taken: &mut Vec<Vec<Datum>>) -> Result<(), SqlError> {
        if !self.is_on_row() {
            return Ok(());
        }
        self.check_scroll()?;
        taken.push(self.shown(&self.seen[self.position - 1]));
        Ok(())
    }

    fn absolute(&mut self, target: u64, taken: &mut Vec<Vec<Datum>>) -> Result<(), SqlError> {
        let position = self.position as u64;
        if target <= position && position > 0 {
            // Back to just before it, so that it is fetched going forwards.
            self.backward(position - target.saturating_sub(1), None)?;
        } else {
            self.forward((target - position).saturating_sub(1), None)?;
        }
        self.forward(u64::from(target > 0), Some(taken))
    }

    fn forward(&mut self, count: u64, mut taken: Option<&mut Vec<Vec<Datum>>>) -> Result<(), SqlError> {
        for _ in 0..count {
            if let Some(end) = self.end.filter(|end| self.position >= *end) {
                self.position = end + 1;
                return Ok(());
            }
            if let Some(row) = self.seen.get(self.position) {
                taken.iter_mut().for_each(|taken| taken.push(self.shown(row)));
            } else {
                let Some(mut row) = self.rows.next().transpose()? else {
                    self.end = Some(self.position);
                    self.position += 1;
                    self.rows = QueryRows::none();
                    return Ok(());
                };
                if self.declared.scroll {
                    taken.iter_mut().for_each(|taken| taken.push(self.shown(&row)));
                    self.seen.push(row);
                } else {
                    let keys = row.split_off(row.len() - self.rows_of.tables.tables.len());
                    taken.iter_mut().for_each(|taken| taken.push(std::mem::take(&mut row)));
                    self.last_keys(keys);
                }
            }
            self.position += 1;
        }
        Ok(())
    }

    fn backward(&mut self, count: u64, mut taken: Option<&mut Vec<Vec<Datum>>>) -> Result<(), SqlError> {
        self.check_scroll()?;
        for _ in 0..count {
            self.position = self.position.saturating_sub(1);
            if self.position == 0 {
                return Ok(());
            }
            let row = &self.seen[self.position - 1];
            taken.iter_mut().for_each(|taken| taken.push(self.shown(row)));
        }
        Ok(())
    }

    /// A row without what stands behind its columns.
    fn shown(&self, row: &[Datum]) -> Vec<Datum> {
        row[..row.len() - self.rows_of.tables.tables.len()].to_vec()
    }

    /// Keeps the keys of the row that it stands on, where no row is kept.
    fn last_keys(&mut self, keys: Vec<Datum>) {
        if !keys.is_empty() {
            self.seen = vec![keys];
        }
    }

    fn check_scroll(&self) -> Result<(), SqlError> {
        if self.declared.scroll {
            return Ok(());
        }
        Err(SqlError::new("55000", "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Declared, FetchDirection};
    use FetchDirection::{Absolute, BackwardAll, Forward, ForwardAll, Relative};
    use repr::{CommitTime, Datum};
    use state::answer::QueryRows;
    use std::sync::Arc;

    fn cursor(rows: i32, scroll: bool) -> Cursor {
        let rows = (1..=rows).map(|number| Ok(vec![Datum::Int4(number)]));
        Cursor::new(Arc::new([]), QueryRows::new(rows), Declared { scroll, ..Declared::default() }, CommitTime(1))
    }

    fn fetch(cursor: &mut Cursor, direction: FetchDirection) -> Result<Vec<i32>, &'static str> {
        let rows = cursor.fetch(direction).map_err(|error| error.code)?;
        let number = |row: Vec<Datum>| match row[..] {
            [Datum::Int4(number)] => number,
            _ => panic!("one int4 column"),
        };
        Ok(rows.into_iter().map(number).collect())
    }

    // What psql shows of PostgreSQL 15 for DECLARE c SCROLL CURSOR FOR SELECT generate_series(1, 5).
    #[test]
    fn a_scroll_cursor_moves_as_in_postgresql() {
        let mut scroll = cursor(5, true);
        let steps: &[(FetchDirection, &[i32])] = &[
            (Forward(0), &[]),
            (Forward(-1), &[]),
            (Forward(2), &[1, 2]),
            (Forward(0), &[2]),
            (Relative(0), &[2]),
            (Relative(2), &[4]),
            (Forward(-2), &[3, 2]),
            (Absolute(4), &[4]),
            (Absolute(4), &[4]),
            (Absolute(1), &[1]),
            (Absolute(-1), &[5]),
            (Absolute(-2), &[4]),
            (Absolute(9), &[]),
            (Forward(1), &[]),
            (Forward(0), &[]),
            (Forward(-1), &[5]),
            (ForwardAll, &[]),
            (BackwardAll, &[5, 4, 3, 2, 1]),
            (BackwardAll, &[]),
            (ForwardAll, &[1, 2, 3, 4, 5]),
            (Absolute(6), &[]),
            (Relative(-1), &[5]),
            (Relative(-9), &[]),
            (Forward(1), &[1]),
            (Absolute(-9), &[]),
            (Forward(1), &[1]),
            (Absolute(0), &[]),
            (Forward(1), &[1]),
            (Relative(9), &[]),
            (Forward(i64::MIN), &[5, 4, 3, 2, 1]),
            (Absolute(i64::MIN), &[]),
            (Absolute(i64::MAX), &[]),
        ];
        for (step, (direction, expected)) in steps.iter().enumerate() {
            assert_eq!(fetch(&mut scroll, *direction).as_deref(), Ok(*expected), "step {step}: {direction:?}");
        }
    }

    #[test]
    fn without_scroll_only_forwards() {
        let mut plain = cursor(5, false);
        assert_eq!(fetch(&mut plain, Absolute(0)), Ok(vec![]));
        assert_eq!(fetch(&mut plain, Absolute(2)), Ok(vec![2]));
        assert_eq!(fetch(&mut plain, Relative(2)), Ok(vec![4]));
        for back in [Forward(-1), Forward(0), BackwardAll, Absolute(4), Absolute(0), Absolute(-1), Relative(-1)] {
            assert_eq!(fetch(&mut plain, back), Err("55000"), "{back:?}");
        }
        assert_eq!(fetch(&mut plain, ForwardAll), Ok(vec![5]));
        assert_eq!(fetch(&mut plain, Forward(0)), Ok(vec![]));
        assert!(plain.seen.is_empty());
        let mut empty = cursor(0, true);
        assert_eq!(fetch(&mut empty, ForwardAll), Ok(vec![]));
        assert_eq!(fetch(&mut empty, Absolute(-1)), Ok(vec![]));
        assert_eq!(fetch(&mut empty, BackwardAll), Ok(vec![]));
    }

    #[test]
    fn held_rows_are_the_rest() {
        for scroll in [false, true] {
            let mut held = cursor(4, scroll);
            assert_eq!(fetch(&mut held, Forward(2)), Ok(vec![1, 2]));
            held.hold_rows().unwrap();
            assert_eq!(fetch(&mut held, Forward(1)), Ok(vec![3]));
            if scroll {
                assert_eq!(fetch(&mut held, Forward(-2)), Ok(vec![2, 1]));
                assert_eq!(fetch(&mut held, Relative(1)), Ok(vec![2]));
                assert_eq!(fetch(&mut held, Forward(1)), Ok(vec![3]));
            }
            assert_eq!(fetch(&mut held, ForwardAll), Ok(vec![4]));
        }
    }
}
