//! Abbreviations of time zones: PostgreSQL's default set.
//!
//! Most have an offset. Others have meant several in their time. MSK, which its zone itself uses, has the offset that it had there last
//! before the moment in question. Of the others, which no zone uses any more, it is what their zone has at that moment.

use super::Zone;
use crate::datetime::SECOND_MICROS;
use chrono_tz::Tz;

/// Seconds east of UTC, sorted by abbreviation. rustfmt would give each a line of its own.
#[rustfmt::skip]
pub(super) const OFFSETS: &[(&str, i32)] = &[
    ("acdt", 37800), ("acsst", 37800), ("acst", 34200), ("act", -18000), ("acwst", 31500), ("adt", -10800),
    ("aedt", 39600), ("aesst", 39600), ("aest", 36000), ("aft", 16200), ("akdt", -28800), ("akst", -32400),
    ("almst", 25200), ("almt", 21600), ("amt", -14400), ("ast", -14400), ("awsst", 32400), ("awst", 28800),
    ("azost", 0), ("azot", -3600), ("bdst", 7200), ("bdt", 21600), ("bnt", 28800), ("bort", 28800), ("bot", -14400),
    ("bra", -10800), ("brst", -7200), ("brt", -10800), ("bst", 3600), ("btt", 21600), ("cadt", 37800),
    ("cast", 34200), ("cct", 28800), ("cdt", -18000), ("cest", 7200), ("cet", 3600), ("cetdst", 7200),
    ("chadt", 49500), ("chast", 45900), ("chut", 36000), ("clst", -10800), ("cot", -18000), ("cst", -21600),
    ("cxt", 25200), ("ddut", 36000), ("eat", 10800), ("edt", -14400), ("eest", 10800), ("eet", 7200),
    ("eetdst", 10800), ("egst", 0), ("egt", -3600), ("est", -18000), ("fet", 10800), ("fjst", 46800), ("fjt", 43200),
    ("fnst", -3600), ("fnt", -7200), ("galt", -21600), ("gamt", -32400), ("gft", -10800), ("gilt", 43200), ("gmt", 0),
    ("hkt", 28800), ("hst", -36000), ("ict", 25200), ("idt", 10800), ("irt", 12600), ("ist", 7200), ("jayt", 32400),
    ("jst", 32400), ("kdt", 36000), ("kgst", 21600), ("kst", 32400), ("lhst", 37800), ("ligt", 36000),
    ("mart", -34200), ("mdt", -21600), ("mest", 7200), ("mesz", 7200), ("met", 3600), ("metdst", 7200), ("mez", 3600),
    ("mht", 43200), ("mmt", 23400), ("mpt", 36000), ("msd", 14400), ("mst", -25200), ("must", 18000),
    ("mut", 14400), ("mvt", 18000), ("myt", 28800), ("ndt", -9000), ("nft", -12600), ("npt", 20700), ("nst", -12600),
    ("nzdt", 46800), ("nzst", 43200), ("nzt", 43200), ("pdt", -25200), ("pet", -18000), ("pgt", 36000),
    ("pht", 28800), ("pkst", 21600), ("pkt", 18000), ("pmdt", -7200), ("pmst", -10800), ("pont", 39600),
    ("pst", -28800), ("pwt", 32400), ("pyst", -10800), ("ret", 14400), ("sadt", 37800), ("sast", 7200),
    ("sct", 14400), ("taht", -36000), ("tft", 18000), ("tjt", 18000), ("tot", 46800), ("trut", 36000), ("tvt", 43200),
    ("uct", 0), ("ulast", 32400), ("ut", 0), ("utc", 0), ("uyst", -7200), ("uyt", -10800), ("uzst", 21600),
    ("uzt", 18000), ("vut", 39600), ("wadt", 28800), ("wakt", 43200), ("wast", 25200), ("wat", 3600), ("wdt", 32400),
    ("wet", 0), ("wetdst", 3600), ("wft", 43200), ("wgst", -7200), ("wgt", -10800), ("xjt", 21600), ("yapt", 36000),
    ("yekst", 21600), ("z", 0), ("zulu", 0),
];

/// Zones, sorted by abbreviation.
#[rustfmt::skip]
pub(super) const ZONES: &[(&str, &str)] = &[
    ("amst", "Asia/Yerevan"), ("anast", "Asia/Anadyr"), ("anat", "Asia/Anadyr"),
    ("arst", "America/Argentina/Buenos_Aires"), ("art", "America/Argentina/Buenos_Aires"), ("azst", "Asia/Baku"),
    ("azt", "Asia/Baku"), ("ckt", "Pacific/Rarotonga"), ("clt", "America/Santiago"), ("davt", "Antarctica/Davis"),
    ("easst", "Pacific/Easter"), ("east", "Pacific/Easter"), ("fkst", "Atlantic/Stanley"),
    ("fkt", "Atlantic/Stanley"), ("gest", "Asia/Tbilisi"), ("get", "Asia/Tbilisi"), ("gyt", "America/Guyana"),
    ("iot", "Indian/Chagos"), ("irkst", "Asia/Irkutsk"), ("irkt", "Asia/Irkutsk"), ("kgt", "Asia/Bishkek"),
    ("kost", "Pacific/Kosrae"), ("krast", "Asia/Krasnoyarsk"), ("krat", "Asia/Krasnoyarsk"),
    ("lhdt", "Australia/Lord_Howe"), ("lint", "Pacific/Kiritimati"), ("lkt", "Asia/Colombo"),
    ("magst", "Asia/Magadan"), ("magt", "Asia/Magadan"), ("mawt", "Antarctica/Mawson"), ("novst", "Asia/Novosibirsk"),
    ("novt", "Asia/Novosibirsk"), ("nut", "Pacific/Niue"), ("omsst", "Asia/Omsk"), ("omst", "Asia/Omsk"),
    ("petst", "Asia/Kamchatka"), ("pett", "Asia/Kamchatka"), ("pyt", "America/Asuncion"), ("sgt", "Asia/Singapore"),
    ("tkt", "Pacific/Fakaofo"), ("tmt", "Asia/Ashgabat"), ("ulat", "Asia/Ulaanbaatar"), ("vet", "America/Caracas"),
    ("vlast", "Asia/Vladivostok"), ("vlat", "Asia/Vladivostok"), ("volt", "Europe/Volgograd"),
    ("yakst", "Asia/Yakutsk"), ("yakt", "Asia/Yakutsk"), ("yekt", "Asia/Yekaterinburg"),
];

/// What an abbreviation has meant that its zone uses.
#[derive(Debug, PartialEq, Eq)]
pub struct Meanings {
    name: &'static str,
    zone: Tz,
    /// Seconds east of UTC at first.
    first: i32,
    /// From when on there was another, in seconds from 2000-01-01 UTC, and which.
    later: &'static [(i64, i32)],
}

/// Moscow's was an hour more between 2011-03-26 23:00 and 2014-10-25 22:00 UTC.
pub(super) static MSK: Meanings = Meanings {
    name: "MSK",
    zone: Tz::Europe__Moscow,
    first: 10800,
    later: &[(354_495_600, 14400), (467_589_600, 10800)],
};

impl Meanings {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn offset_at(&self, moment: i64) -> i32 {
        let seconds = moment.div_euclid(SECOND_MICROS);
        self.later.iter().rev().find(|(from, _)| *from <= seconds).map_or(self.first, |(_, offset)| *offset)
    }

    /// Of a local time, which says when it is by the zone's own clocks.
    pub(super) fn offset_of_local(&self, local: i64) -> i32 {
        let offset = Zone::Named(self.zone).offset_of_local(local);
        self.offset_at(local - i64::from(offset) * SECOND_MICROS)
    }
}

/// What an abbreviation means, in any case.
pub(crate) fn abbreviation(name: &str) -> Option<Zone> {
    let lower = name.to_ascii_lowercase();
    if name.eq_ignore_ascii_case(MSK.name) {
        return Some(Zone::Abbreviation(&MSK));
    }
    if let Ok(place) = OFFSETS.binary_search_by(|(known, _)| (*known).cmp(&lower)) {
        return Some(Zone::Fixed(OFFSETS[place].1));
    }
    let place = ZONES.binary_search_by(|(known, _)| (*known).cmp(&lower)).ok()?;
    ZONES[place].1.parse::<Tz>().ok().map(Zone::Named)
}

#[cfg(test)]
mod tests {
    use super::{OFFSETS, ZONES, Zone, abbreviation};

    #[test]
    fn abbreviations_are_sorted_and_found_in_any_case() {
        assert!(OFFSETS.is_sorted_by(|left, right| left.0 < right.0));
        assert!(ZONES.is_sorted_by(|left, right| left.0 < right.0));
        assert!(ZONES.iter().all(|(name, _)| abbreviation(name).is_some()));
        assert_eq!((abbreviation("cest"), abbreviation("EST")), (Some(Zone::Fixed(7200)), Some(Zone::Fixed(-18000))));
        assert_eq!(abbreviation("nope"), None);
    }
}
