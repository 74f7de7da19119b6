//! Time zones and abbreviations as `pg_timezone_names` and `pg_timezone_abbrevs` list them.

use super::Zone;
use super::abbreviation::{MSK, OFFSETS, ZONES};
use chrono_tz::{OffsetComponents, TZ_VARIANTS, Tz};

/// A time zone, or an abbreviation of some, at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedZone {
    /// `Europe/Berlin`; an abbreviation in capitals.
    pub name: String,
    /// What is used for it: `CET`.
    pub abbreviation: String,
    /// Seconds east of UTC.
    pub offset: i32,
    /// Whether that is summer time.
    pub is_summer: bool,
}

/// Abbreviations with an offset that are of summer times.
#[rustfmt::skip]
const SUMMER: &[&str] = &[
    "acdt", "acsst", "adt", "aedt", "aesst", "akdt", "almst", "awsst", "azost", "bdst", "brst", "bst", "cadt",
    "cdt", "cest", "cetdst", "chadt", "clst", "edt", "eest", "eetdst", "egst", "fjst", "fnst", "idt", "kdt",
    "kgst", "lhdt", "mdt", "mest", "mesz", "metdst", "msd", "must", "ndt", "nzdt", "pdt", "pkst", "pmdt",
    "pyst", "sadt", "ulast", "uyst", "uzst", "wadt", "wdt", "wetdst", "wgst", "yekst",
];

/// The offset of a zone and whether it is of summer time.
fn at(zone: Tz, micros: i64) -> (i32, bool) {
    let named = Zone::Named(zone);
    let summer = named.chrono_moment(&zone, micros).is_some_and(|moment| !moment.offset().dst_offset().is_zero());
    (named.offset_at(micros), summer)
}

/// All zones by name.
pub fn zones(micros: i64) -> impl Iterator<Item = ListedZone> {
    TZ_VARIANTS.iter().map(move |zone| {
        let (offset, is_summer) = at(*zone, micros);
        let abbreviation = Zone::Named(*zone).abbreviation_at(micros);
        ListedZone { name: zone.name().to_owned(), abbreviation, offset, is_summer }
    })
}

/// All abbreviations.
pub fn abbreviations(micros: i64) -> impl Iterator<Item = ListedZone> {
    let listed = |name: &str, (offset, is_summer): (i32, bool)| {
        let name = name.to_ascii_uppercase();
        ListedZone { abbreviation: name.clone(), name, offset, is_summer }
    };
    let fixed = OFFSETS.iter().map(move |(name, offset)| listed(name, (*offset, SUMMER.contains(name))));
    let of_zones = ZONES.iter().filter_map(move |(name, zone)| Some(listed(name, at(zone.parse().ok()?, micros))));
    fixed.chain(of_zones).chain([listed(MSK.name(), (MSK.offset_at(micros), false))])
}

#[cfg(test)]
mod tests {
    use super::{SUMMER, abbreviations, zones};
    use crate::datetime::DAY_MICROS;

    #[test]
    fn zones_are_listed_as_they_are_at_the_moment() {
        // 2026-07-01 and 2026-01-01.
        let (summer, winter) = (9_678 * DAY_MICROS, 9_497 * DAY_MICROS);
        let berlin = |micros| {
            zones(micros).find(|zone| zone.name == "Europe/Berlin").map(|z| (z.abbreviation, z.offset, z.is_summer))
        };
        assert_eq!(berlin(summer), Some(("CEST".to_owned(), 7_200, true)));
        assert_eq!(berlin(winter), Some(("CET".to_owned(), 3_600, false)));
        let listed: Vec<_> = abbreviations(winter).collect();
        assert_eq!(listed.len(), 195);
        assert_eq!(listed.iter().filter(|zone| zone.name == "MSK" && zone.offset == 10_800).count(), 1);
        assert!(
            SUMMER.iter().all(|name| listed.iter().any(|zone| zone.name.eq_ignore_ascii_case(name) && zone.is_summer))
        );
    }
}
