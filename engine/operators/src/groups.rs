//! Groups of an arrangement, and what each comes to: a row, or the error of its evaluation.

use crate::context::{Bundle, RenderTime};
use arrangements::arrangement::{Bytes, Flat, Group, Key, RowDiff, RowsByKey};
use arrangements::offsets::Offsets;
use differential_dataflow::trace::implementations::containers::BatchContainer;
use differential_dataflow::trace::implementations::ord_neu::{OrdValBatch, OrdValBuilder};
use differential_dataflow::trace::implementations::spine_fueled::Spine;
use differential_dataflow::trace::rc_blanket_impls::RcBuilder;
use differential_dataflow::{AsCollection, VecCollection};
use repr::{Row, ValueError};
use std::rc::Rc;
use timely::dataflow::operators::core::OkErr;

/// What a group came to: a row or its error.
pub type Outcome = Result<Row, ValueError>;
type OutcomeLayout<T> = (Flat<Key>, Vec<Outcome>, Vec<T>, Vec<isize>, Offsets);
type OutcomeBuilder<T> = RcBuilder<OrdValBuilder<OutcomeLayout<T>, Vec<((Key, Outcome), T, isize)>>>;
type OutcomeSpine<T> = Spine<Rc<OrdValBatch<OutcomeLayout<T>>>>;

/// Each group's outcomes, from its key and values.
pub fn reduce<'s, T: RenderTime, R: RowDiff>(
    arranged: RowsByKey<'s, T, R>,
    name: &str,
    mut logic: impl FnMut(Bytes<'_>, Group<'_, '_, R>, &mut Vec<(Outcome, isize)>) + 'static,
) -> Bundle<'s, T> {
    let reduced = arranged.reduce_abelian::<_, OutcomeBuilder<T>, OutcomeSpine<T>, Flat<Key>, _>(
        name,
        move |key, input, output| logic(key, input, output),
        |updates, key, outcomes| {
            updates.clear();
            let key = Flat::<Key>::into_owned(key);
            updates.extend(outcomes.drain(..).map(|(outcome, time, diff)| ((key.clone(), outcome), time, diff)));
        },
    );
    split(reduced.as_collection(|_key, outcome| outcome.clone()))
}

/// Parts rows from errors.
pub fn split<T: RenderTime>(outcomes: VecCollection<'_, T, Outcome, isize>) -> Bundle<'_, T> {
    let (oks, errs) = outcomes.inner.ok_err(|(outcome, time, diff)| match outcome {
        Ok(row) => Ok((row, time, diff)),
        Err(error) => Err((error, time, diff)),
    });
    Bundle { oks: oks.as_collection(), errs: Some(errs.as_collection()) }
}
