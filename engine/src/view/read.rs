//! Answering a query from a view's published batches: keys in, finished rows out, on the caller's thread.

use super::published::{Arrangement, ViewState};
use crate::SqlError;
use crate::one_shot::QueryRows;
use crate::one_shot::watch::{Ticker, Watch};
use crate::render::top_k::{encode_order, limit, offset};
use planner::lift::{Absent, KeyValues, Lifted};
use planner::scalar::EvalContext;
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, key};
use std::collections::{BTreeSet, HashSet};

/// The keys that an execution asks for, each once; NULL equals nothing.
pub fn keys(lifted: &Lifted, eval: &EvalContext) -> Result<Vec<Vec<u8>>, ValueError> {
    let alternatives: Vec<Vec<Vec<u8>>> =
        lifted.asked.iter().map(|asked| keys_of(asked, eval)).collect::<Result<_, _>>()?;
    if alternatives.len() == 1 {
        return Ok(alternatives.concat());
    }
    let keys: BTreeSet<Vec<u8>> = alternatives.into_iter().flatten().collect();
    Ok(keys.into_iter().collect())
}

/// One alternative's.
fn keys_of(asked: &[KeyValues], eval: &EvalContext) -> Result<Vec<Vec<u8>>, ValueError> {
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
                Datum::Array(array) => array.elements.to_vec(),
                _ => Vec::new(),
            },
        };
        let mut seen = BTreeSet::new();
        for value in values.iter().filter(|value| !value.is_null()) {
            let mut bytes = Vec::with_capacity(12);
            key::encode(&mut bytes, value);
            seen.insert(bytes);
        }
        if let ([only], 1) = (keys.as_mut_slice(), seen.len()) {
            seen.into_iter().for_each(|value| only.extend(value));
            continue;
        }
        keys = keys.iter().flat_map(|key| seen.iter().map(|value| [key.as_slice(), value].concat())).collect();
    }
    Ok(keys)
}

/// The finished rows; none if the keys have no rows, and a result all the same: see `Lifted::absent`.
pub fn rows(
    lifted: &Lifted,
    state: &ViewState,
    eval: &EvalContext,
    watch: &Watch,
) -> Result<Option<QueryRows>, SqlError> {
    let Some(arrangement) = state.arrangements.first() else { return Ok(None) };
    let keys = keys(lifted, eval)?;
    let finishing = &lifted.finishing;
    let skip = offset(finishing.offset.as_ref(), eval)?;
    let at_most = limit(finishing.limit.as_ref(), eval)?;
    let wanted = at_most.map_or(usize::MAX, |limit| limit.saturating_add(skip));
    let mut found = Found { rows: Vec::new(), project: &finishing.project, ticker: Ticker::default() };
    if lifted.distinct {
        found.read_distinct(arrangement, &keys, lifted, wanted, watch)?;
    } else if let [key] = keys.as_slice() {
        found.read(arrangement, key, wanted, watch)?;
    } else {
        found.read_several(arrangement, &keys, lifted, wanted, watch)?;
    }
    if found.rows.is_empty() && wanted > 0 && lifted.absent != Absent::Empty {
        return Ok(None);
    }
    let mut rows = found.rows;
    rows.truncate(wanted);
    rows.drain(..skip.min(rows.len()));
    Ok(Some(Box::new(rows.into_iter().map(Ok))))
}

struct Found<'p> {
    rows: Vec<Vec<Datum>>,
    project: &'p [usize],
    ticker: Ticker,
}

impl Found<'_> {
    /// One key's rows, in the arrangement's order.
    fn read(&mut self, arrangement: &Arrangement, key: &[u8], wanted: usize, watch: &Watch) -> Result<(), SqlError> {
        let mut stopped = Ok(());
        if wanted == 0 {
            return Ok(());
        }
        arrangement.for_key(key, |bytes| {
            self.rows.push(project(bytes, self.project));
            stopped = self.ticker.tick(watch).and_then(|()| watch.charge(bytes.len() + size_of::<Vec<Datum>>()));
            stopped.is_ok() && self.rows.len() < wanted
        });
        stopped
    }

    /// Several keys' rows, put in order.
    fn read_several(
        &mut self,
        arrangement: &Arrangement,
        keys: &[Vec<u8>],
        lifted: &Lifted,
        wanted: usize,
        watch: &Watch,
    ) -> Result<(), SqlError> {
        if lifted.finishing.order_by.is_empty() {
            for key in keys {
                self.read(arrangement, key, wanted, watch)?;
            }
            return Ok(());
        }
        self.read_all(arrangement, keys, lifted, wanted, watch, |_| true)
    }

    /// Several keys' rows, each once, put in order.
    fn read_distinct(
        &mut self,
        arrangement: &Arrangement,
        keys: &[Vec<u8>],
        lifted: &Lifted,
        wanted: usize,
        watch: &Watch,
    ) -> Result<(), SqlError> {
        let columns = lifted.key.first().copied().unwrap_or(usize::MAX);
        let mut seen = HashSet::new();
        self.read_all(arrangement, keys, lifted, wanted, watch, |datums| {
            seen.insert(key::encode_all(&datums[..columns.min(datums.len())]))
        })
    }

    fn read_all(
        &mut self,
        arrangement: &Arrangement,
        keys: &[Vec<u8>],
        lifted: &Lifted,
        wanted: usize,
        watch: &Watch,
        mut keep: impl FnMut(&[Datum]) -> bool,
    ) -> Result<(), SqlError> {
        let mut coded = Vec::new();
        let mut stopped = Ok(());
        for key in keys {
            arrangement.for_key(key, |bytes| {
                let datums: Vec<Datum> = RowIter::over(bytes).collect();
                stopped = self.ticker.tick(watch);
                if stopped.is_ok() && keep(&datums) {
                    let mut code = Vec::new();
                    encode_order(&mut code, &lifted.finishing.order_by, &datums);
                    coded.push((code, Row::from_bytes(bytes.into())));
                    stopped = watch.charge(bytes.len() * 2);
                }
                stopped.is_ok()
            });
        }
        stopped?;
        coded.sort_unstable();
        let rows = coded.iter().take(wanted).map(|(_, row)| project(row.bytes(), self.project));
        self.rows.extend(rows);
        Ok(())
    }
}

/// These columns of a packed row.
fn project(bytes: &[u8], columns: &[usize]) -> Vec<Datum> {
    let datums: Vec<Datum> = RowIter::over(bytes).collect();
    columns.iter().map(|column| datums[*column].clone()).collect()
}
