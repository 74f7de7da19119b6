//! Units of settings: how much of one another is, and which of them a value is shown in.

/// What a setting's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: a number without a unit.
    None,
    /// Bytes.
    Bytes,
    /// Kilobytes.
    Kilobytes,
    /// Blocks of 8 kB.
    Blocks,
    /// Megabytes.
    Megabytes,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
}

const BYTES: &[(&str, f64)] =
    &[("TB", 1_099_511_627_776.0), ("GB", 1_073_741_824.0), ("MB", 1_048_576.0), ("kB", 1024.0), ("B", 1.0)];
const MEGABYTES: &[(&str, f64)] =
    &[("TB", 1_048_576.0), ("GB", 1024.0), ("MB", 1.0), ("kB", 1.0 / 1024.0), ("B", 1.0 / 1_048_576.0)];
const SECONDS: &[(&str, f64)] =
    &[("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001), ("us", 0.000_001)];
const MINUTES: &[(&str, f64)] =
    &[("d", 1440.0), ("h", 60.0), ("min", 1.0), ("s", 1.0 / 60.0), ("ms", 1.0 / 60_000.0), ("us", 1.0 / 60_000_000.0)];

const KILOBYTES: &[(&str, f64)] =
    &[("TB", 1_073_741_824.0), ("GB", 1_048_576.0), ("MB", 1024.0), ("kB", 1.0), ("B", 1.0 / 1024.0)];
const BLOCKS: &[(&str, f64)] =
    &[("TB", 134_217_728.0), ("GB", 131_072.0), ("MB", 128.0), ("kB", 1.0 / 8.0), ("B", 1.0 / 8192.0)];
const MILLISECONDS: &[(&str, f64)] =
    &[("d", 86_400_000.0), ("h", 3_600_000.0), ("min", 60_000.0), ("s", 1000.0), ("ms", 1.0), ("us", 0.001)];

const MEMORY_HINT: &str = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
const TIME_HINT: &str = "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";

impl Unit {
    /// Units that a value may have, the largest first, each with how many of this one it is.
    fn conversions(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::None => &[],
            Unit::Bytes => BYTES,
            Unit::Kilobytes => KILOBYTES,
            Unit::Blocks => BLOCKS,
            Unit::Megabytes => MEGABYTES,
            Unit::Milliseconds => MILLISECONDS,
            Unit::Seconds => SECONDS,
            Unit::Minutes => MINUTES,
        }
    }

    /// As messages and `pg_settings` name it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Bytes => Some("B"),
            Unit::Kilobytes => Some("kB"),
            Unit::Blocks => Some("8kB"),
            Unit::Megabytes => Some("MB"),
            Unit::Milliseconds => Some("ms"),
            Unit::Seconds => Some("s"),
            Unit::Minutes => Some("min"),
        }
    }

    /// By that name; anything else is none.
    pub(crate) fn named(name: &str) -> Unit {
        let all = [
            Unit::Bytes,
            Unit::Kilobytes,
            Unit::Blocks,
            Unit::Megabytes,
            Unit::Milliseconds,
            Unit::Seconds,
            Unit::Minutes,
        ];
        all.into_iter().find(|unit| unit.name() == Some(name)).unwrap_or(Unit::None)
    }

    /// What to do when a value's unit is none of them.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Bytes | Unit::Kilobytes | Unit::Blocks | Unit::Megabytes => Some(MEMORY_HINT),
            Unit::Milliseconds | Unit::Seconds | Unit::Minutes => Some(TIME_HINT),
        }
    }

    /// So many of a named unit in this one. A fraction is rounded to the next smaller unit, as in PostgreSQL.
    pub fn convert(self, value: f64, unit: &str) -> Option<f64> {
        let conversions = self.conversions();
        let place = conversions.iter().position(|(name, _)| *name == unit)?;
        let converted = value * conversions[place].1;
        Some(match conversions.get(place + 1) {
            Some((_, smaller)) => (converted / smaller).round_ties_even() * smaller,
            None => converted,
        })
    }

    /// A whole number of this unit in the largest that leaves it whole.
    pub(crate) fn show_integer(self, value: i64) -> String {
        if value <= 0 {
            return value.to_string();
        }
        let fits = |factor: f64| factor <= 1.0 || value % factor as i64 == 0;
        match self.conversions().iter().find(|(_, factor)| fits(*factor)) {
            Some((unit, factor)) => format!("{}{unit}", (value as f64 / factor).round_ties_even() as i64),
            None => value.to_string(),
        }
    }

    /// A number of this unit in the largest that leaves it whole, else in the smallest.
    pub(crate) fn show_real(self, value: f64) -> String {
        let conversions = self.conversions();
        let is_whole = |factor: f64| {
            let converted = value / factor;
            converted > 0.0 && (converted.round_ties_even() / converted - 1.0).abs() <= 1e-8
        };
        let unit = conversions.iter().find(|(_, factor)| is_whole(*factor)).or(conversions.last());
        match unit {
            Some((unit, factor)) if value > 0.0 => format!("{}{unit}", general(value / factor)),
            Some(_) | None => general(value),
        }
    }
}

/// A number as C's `%g` prints it.
pub(crate) fn general(value: f64) -> String {
    const DIGITS: usize = 6;
    repr::text::format_rounded(value, DIGITS)
}

#[cfg(test)]
mod tests {
    use super::{Unit, general};

    #[test]
    fn values_are_shown_in_the_largest_unit_that_leaves_them_whole() {
        for (unit, value, shown) in [
            (Unit::Milliseconds, 60_000, "1min"),
            (Unit::Milliseconds, 90_000, "90s"),
            (Unit::Milliseconds, 1500, "1500ms"),
            (Unit::Milliseconds, 0, "0"),
            (Unit::Kilobytes, -1, "-1"),
            (Unit::Kilobytes, 1 << 30, "1TB"),
            (Unit::Blocks, 9, "72kB"),
            (Unit::Blocks, 2048, "16MB"),
            (Unit::None, 7, "7"),
        ] {
            assert_eq!(unit.show_integer(value), shown);
        }
        assert_eq!(Unit::Milliseconds.show_real(1.5), "1500us");
        assert_eq!(Unit::Milliseconds.show_real(0.0), "0");
        assert_eq!((general(1.123_456_789), general(1e10)), ("1.12346".to_string(), "1e+10".to_string()));
    }

    #[test]
    fn fractions_are_rounded_to_the_next_smaller_unit() {
        assert_eq!(Unit::Kilobytes.convert(30.1, "GB"), Some(30_822.0 * 1024.0));
        assert_eq!(Unit::Milliseconds.convert(0.0005, "s"), Some(0.0));
        assert_eq!(Unit::Milliseconds.convert(1.0, "fortnight"), None);
    }
}
