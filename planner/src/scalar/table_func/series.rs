//! generate_series and generate_subscripts: counted, not stored, so that LIMIT stops them.

use super::{TableAnswer, TableFunctionDefinition, column, strict};
use crate::scalar::func::arguments::{array, boolean, integer, interval, numeric, timestamp};
use crate::scalar::func::unsigned::snapshot;
use repr::datetime::{Zone, arithmetic, is_infinite};
use repr::{Datum, Interval, Numeric, ScalarType, ValueError};

fn zero_step() -> ValueError {
    ValueError::new("22023", "step size cannot equal zero")
}

fn integers(args: &[Datum], types: &[ScalarType]) -> TableAnswer {
    let (start, stop) = (integer(&args[0])?, integer(&args[1])?);
    let step = args.get(2).map_or(Ok(1), integer)?;
    if step == 0 {
        return Err(zero_step());
    }
    let wide = types.first() != Some(&ScalarType::Int4);
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.filter(|value| if step > 0 { *value <= stop } else { *value >= stop })?;
        // Past the end of the type there is nothing more.
        next = value.checked_add(step);
        let datum = if wide { Datum::Int8(value) } else { Datum::Int4(i32::try_from(value).ok()?) };
        Some(Ok(vec![datum]))
    })))
}

fn numerics(args: &[Datum]) -> TableAnswer {
    let (start, stop) = (numeric(&args[0])?.clone(), numeric(&args[1])?.clone());
    let step = args.get(2).map_or_else(|| Ok(Numeric::from(1)), |step| numeric(step).cloned())?;
    for (value, name) in [(&start, "start"), (&stop, "stop"), (&step, "step size")] {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "infinity" };
            let name = if name == "step size" { name.to_owned() } else { format!("{name} value") };
            return Err(ValueError::new("22023", format!("{name} cannot be {what}")));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    // All values have the scale of the finest of start and step.
    let scale = start.scale().max(step.scale()).unwrap_or_default();
    let mut next = Some(start.round(i32::from(scale))?);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.take()?;
        let order = value.sql_cmp(&stop);
        if if step.is_negative() { order.is_lt() } else { order.is_gt() } {
            return None;
        }
        next = value.add(&step).ok();
        Some(Ok(vec![Datum::Numeric(value)]))
    })))
}

/// Timestamps; `zone` for those with time zone, whose days and months are the zone's.
fn timestamps(args: &[Datum], zone: Option<Zone>) -> TableAnswer {
    let (start, stop, step) = (timestamp(&args[0])?, timestamp(&args[1])?, interval(&args[2])?);
    let direction = step.comparison_value();
    if direction == 0 {
        return Err(zero_step());
    }
    if is_infinite(start) || is_infinite(stop) && (stop > 0) == (direction > 0) && is_infinite(start) {
        return column(Vec::new());
    }
    let add = move |micros: i64, step: &Interval| match &zone {
        Some(zone) => arithmetic::timestamptz_add(micros, step, zone),
        None => arithmetic::timestamp_add(micros, step),
    };
    let with_zone = matches!(args[0], Datum::Timestamptz(_));
    let mut next = Some(Ok(start));
    Ok(Box::new(std::iter::from_fn(move || match next.take()? {
        Ok(value) => {
            if if direction > 0 { value > stop } else { value < stop } {
                return None;
            }
            next = Some(add(value, &step));
            Some(Ok(vec![if with_zone { Datum::Timestamptz(value) } else { Datum::Timestamp(value) }]))
        }
        Err(error) => Some(Err(error)),
    })))
}

fn subscripts(args: &[Datum]) -> TableAnswer {
    let place = usize::try_from(integer(&args[1])?).ok().and_then(|number| number.checked_sub(1));
    let reverse = args.get(2).map_or(Ok(false), boolean)?;
    let Some((length, lower)) = place.and_then(|place| array(&args[0]).ok()?.dimensions.get(place).copied()) else {
        return column(Vec::new());
    };
    let mut values: Vec<Datum> = (0..length).map(|index| Datum::Int4(lower.saturating_add(index as i32))).collect();
    if reverse {
        values.reverse();
    }
    column(values)
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("generate_series(int4, int4, int4?) int4", |_, args, types| strict(args, |args| integers(args, types))),
    ("generate_series(int8, int8, int8?) int8", |_, args, types| strict(args, |args| integers(args, types))),
    ("generate_series(numeric, numeric, numeric?) numeric", |_, args, _| strict(args, numerics)),
    ("generate_series(timestamp, timestamp, interval) timestamp", |_, args, _| {
        strict(args, |args| timestamps(args, None))
    }),
    ("generate_series(timestamptz, timestamptz, interval) timestamptz", |ctx, args, _| {
        strict(args, |args| timestamps(args, Some(ctx.zone())))
    }),
    ("pg_snapshot_xip(pg_snapshot) xid8", |_, args, _| {
        strict(args, |args| column(snapshot(&args[0])?.open.into_iter().map(Datum::Unsigned).collect()))
    }),
    ("txid_snapshot_xip(txid_snapshot) int8", |_, args, _| {
        strict(args, |args| {
            column(snapshot(&args[0])?.open.into_iter().map(|number| Datum::Int8(number.cast_signed())).collect())
        })
    }),
    ("generate_subscripts(anyarray, int4, bool?) int4", |_, args, _| strict(args, subscripts)),
];
