//! Answering a query from a view's published batches: keys in, finished rows out, on the caller's thread.

use arrangements::ordered_row::encode_order;
use operators::top_k::{limit, offset};
use planner::lift::{Absent, KeyValues, Lifted};
use planner::physical::costs::KEYS_MAX;
use planner::scalar::EvalContext;
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, key, poll};
use state::SqlError;
use state::answer::{Answer, AnswerRow, QueryRows, Show, Stored, places};
use state::interrupt::{Ticker, Watch};
use state::layered_snapshot::LayeredSnapshot;
use state::view_states::{Arrangement, KeyRows, ViewState};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The keys that an execution asks for, each once; NULL equals nothing. None if values of several columns make too many:
/// three lists of a thousand values each are a billion keys. Those of one column are as many as were given.
pub fn keys(lifted: &Lifted, eval: &EvalContext) -> Result<Option<Vec<Vec<u8>>>, ValueError> {
    if let [asked] = lifted.asked.as_slice() {
        return keys_of(asked, eval);
    }
    let mut all = BTreeSet::new();
    for asked in &lifted.asked {
        let Some(keys) = keys_of(asked, eval)? else { return Ok(None) };
        all.extend(keys);
    }
    Ok(Some(all.into_iter().collect()))
}

/// One alternative's.
fn keys_of(asked: &[KeyValues], eval: &EvalContext) -> Result<Option<Vec<Vec<u8>>>, ValueError> {
    let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
    for values in asked {
        let values = match values {
            KeyValues::Absent => {
                keys.iter_mut().for_each(|own| key::encode(own, &Datum::Null));
                continue;
            }
            KeyValues::One(value) => vec![value.eval(&[], eval)?],
            KeyValues::Several(values) => values.iter().map(|value| value.eval(&[], eval)).collect::<Result<_, _>>()?,
            KeyValues::Elements(array) => match array.eval(&[], eval)? {
                Datum::Array(array) => array.elements.clone(),
                _ => Vec::new(),
            },
            KeyValues::Ranks(range) => range.ranks(eval)?.map(Datum::Int8).collect(),
        };
        let mut seen = Vec::with_capacity(values.len());
        for value in values.iter().filter(|value| !value.is_null()) {
            poll::step()?;
            let mut bytes = Vec::with_capacity(12);
            key::encode(&mut bytes, value);
            seen.push(bytes);
        }
        seen.sort_unstable();
        seen.dedup();
        match (keys.as_mut_slice(), seen.len()) {
            ([only], _) if only.is_empty() => {
                keys = seen;
                continue;
            }
            ([only], 1) => {
                seen.into_iter().for_each(|value| only.extend(value));
                continue;
            }
            _ => {}
        }
        if keys.len() > 1 && seen.len() > 1 && keys.len().saturating_mul(seen.len()) > KEYS_MAX {
            return Ok(None);
        }
        keys = keys.iter().flat_map(|key| seen.iter().map(|value| [key.as_slice(), value].concat())).collect();
    }
    Ok(Some(keys))
}

/// The finished rows of these keys; none if they have no rows, and a result all the same: see `Lifted::absent`. `snapshot`
/// is the one that `state` is of, held as long as there are rows to come.
pub fn rows(
    lifted: &Arc<Lifted>,
    keys: Vec<Vec<u8>>,
    (state, snapshot): (&ViewState, &LayeredSnapshot),
    eval: &EvalContext,
    watch: Watch,
) -> Result<Option<QueryRows>, SqlError> {
    let Some(arrangement) = state.arrangements.first() else { return Ok(None) };
    let finishing = &lifted.finishing;
    let skip = offset(finishing.offset.as_ref(), eval)?;
    let at_most = limit(finishing.limit.as_ref(), eval)?;
    let wanted = at_most.map_or(usize::MAX, |limit| limit.saturating_add(skip));
    let needs_rows = wanted > 0 && lifted.absent != Absent::Empty;
    let whole = places(None, &finishing.project).is_none();
    if whole || lifted.distinct || (keys.len() > 1 && !finishing.order_by.is_empty()) {
        let mut rows = sorted(arrangement, &keys, lifted, wanted, &watch)?;
        if rows.is_empty() && needs_rows {
            return Ok(None);
        }
        rows.drain(..skip.min(rows.len()));
        return Ok(Some(QueryRows::packed(rows, finishing.project.clone())));
    }
    let mut found = KeyedRows {
        rows: KeyRows::of(arrangement.clone()),
        keys: keys.into_iter(),
        lifted: lifted.clone(),
        left: wanted,
        stands: false,
        watch,
        ticker: Ticker::default(),
        _snapshot: snapshot.clone(),
    };
    found.stands = found.advance()?;
    if !found.stands && needs_rows {
        return Ok(None);
    }
    for _ in 0..skip {
        if !found.advance()? {
            break;
        }
    }
    Ok(Some(QueryRows::of(found)))
}

/// Rows of some keys, one key's after another's, where they stand.
struct KeyedRows {
    rows: KeyRows,
    keys: std::vec::IntoIter<Vec<u8>>,
    lifted: Arc<Lifted>,
    left: usize,
    /// Whether it stands on a row already that was not given yet.
    stands: bool,
    watch: Watch,
    ticker: Ticker,
    _snapshot: LayeredSnapshot,
}

impl KeyedRows {
    /// Goes on to the next row, whether or not it may still be read.
    fn step(&mut self) -> Result<bool, SqlError> {
        if std::mem::take(&mut self.stands) {
            return Ok(true);
        }
        self.ticker.tick(&self.watch)?;
        if self.left == 0 {
            return Ok(false);
        }
        while !self.rows.advance() {
            let Some(key) = self.keys.next() else {
                self.left = 0;
                return Ok(false);
            };
            self.rows.seek(&key);
        }
        self.left -= 1;
        Ok(true)
    }

    /// A portal is pulled long after its rows were found: why they may no longer be read, if so.
    fn check_ended(&self) -> Result<(), SqlError> {
        self.watch.ended().map_or(Ok(()), Err)
    }
}

impl Answer for KeyedRows {
    fn advance(&mut self) -> Result<bool, SqlError> {
        if !self.step()? {
            return Ok(false);
        }
        self.check_ended()?;
        Ok(true)
    }

    fn row(&mut self) -> AnswerRow<'_> {
        AnswerRow::Packed(Stored::whole(self.rows.row()), &self.lifted.finishing.project)
    }

    // All of them stand in memory.
    fn show(&mut self, show: &mut Show<'_>) -> Result<bool, SqlError> {
        if !self.advance()? {
            return Ok(false);
        }
        while show(&self.row()) {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Rows of some keys, put in order, each once if it is to be so; no more than wanted.
fn sorted(
    arrangement: &Arrangement,
    keys: &[Vec<u8>],
    lifted: &Lifted,
    wanted: usize,
    watch: &Watch,
) -> Result<Vec<Row>, SqlError> {
    let columns = lifted.key.first().copied().unwrap_or(usize::MAX);
    let order_by = if keys.len() > 1 || lifted.distinct { lifted.finishing.order_by.as_slice() } else { &[] };
    let mut seen = HashSet::new();
    let mut coded = Vec::new();
    let mut ticker = Ticker::default();
    let mut stopped = Ok(());
    for key in keys {
        arrangement.for_key(key, |bytes| {
            let datums: Vec<Datum> = RowIter::over(bytes).collect();
            stopped = ticker.tick(watch);
            let once = if lifted.distinct { Some(key::encode_all(&datums[..columns.min(datums.len())])) } else { None };
            if stopped.is_ok() && once.is_none_or(|row| seen.insert(row)) {
                let mut code = Vec::new();
                encode_order(&mut code, order_by, &datums);
                coded.push((code, Row::from_bytes(bytes.into())));
                stopped = poll::bytes(bytes.len()).map_err(SqlError::from);
            }
            stopped.is_ok()
        });
    }
    stopped?;
    if !order_by.is_empty() {
        poll::sort_by(&mut coded, Ord::cmp)?;
    }
    Ok(coded.into_iter().map(|(_, row)| row).take(wanted).collect())
}
