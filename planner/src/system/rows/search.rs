//! What texts are searched by: pg_ts_config, pg_ts_config_map, pg_ts_dict, pg_ts_parser, pg_ts_template.

use super::{OWNER, PG_CATALOG, Rows, Source, optional, text};
use crate::scalar::func::text_search::configuration::{CONFIGURATIONS, DICTIONARIES, Dictionary};
use crate::scalar::func::text_search::{PARSER, token_kind_numbers};
use repr::Datum;

/// The templates that dictionaries are made of, and their functions.
const SIMPLE: (u32, &str, u32, u32) = (3727, "simple", 3725, 3726);
const SNOWBALL: (u32, &str, u32, u32) = (13150, "snowball", 13148, 13149);

impl Source<'_> {
    pub(super) fn search_configurations(&self, rows: &mut Rows) {
        for configuration in CONFIGURATIONS {
            rows.add(&[
                ("oid", Datum::Oid(configuration.oid())),
                ("cfgname", text(configuration.name())),
                ("cfgnamespace", Datum::Oid(PG_CATALOG)),
                ("cfgowner", Datum::Oid(OWNER)),
                ("cfgparser", Datum::Oid(PARSER)),
            ]);
        }
    }

    pub(super) fn search_configuration_maps(&self, rows: &mut Rows) {
        for (configuration, (number, kind)) in
            CONFIGURATIONS.into_iter().flat_map(|one| token_kind_numbers().map(move |kind| (one, kind)))
        {
            if let Some(dictionary) = configuration.dictionary(kind) {
                rows.add(&[
                    ("mapcfg", Datum::Oid(configuration.oid())),
                    ("maptokentype", Datum::Int4(number)),
                    ("mapseqno", Datum::Int4(1)),
                    ("mapdict", Datum::Oid(dictionary.oid())),
                ]);
            }
        }
    }

    pub(super) fn search_dictionaries(&self, rows: &mut Rows) {
        for dictionary in DICTIONARIES {
            let (template, options) = match dictionary {
                Dictionary::Simple => (SIMPLE, None),
                Dictionary::EnglishStem => (SNOWBALL, Some("language = 'english', stopwords = 'english'")),
            };
            rows.add(&[
                ("oid", Datum::Oid(dictionary.oid())),
                ("dictname", text(dictionary.name())),
                ("dictnamespace", Datum::Oid(PG_CATALOG)),
                ("dictowner", Datum::Oid(OWNER)),
                ("dicttemplate", Datum::Oid(template.0)),
                ("dictinitoption", optional(options)),
            ]);
        }
    }

    pub(super) fn search_parsers(&self, rows: &mut Rows) {
        rows.add(&[
            ("oid", Datum::Oid(PARSER)),
            ("prsname", text("default")),
            ("prsnamespace", Datum::Oid(PG_CATALOG)),
            ("prsstart", Datum::Oid(3717)),
            ("prstoken", Datum::Oid(3718)),
            ("prsend", Datum::Oid(3719)),
            ("prsheadline", Datum::Oid(3720)),
            ("prslextype", Datum::Oid(3721)),
        ]);
    }

    pub(super) fn search_templates(&self, rows: &mut Rows) {
        for (oid, name, init, lexize) in [SIMPLE, SNOWBALL] {
            rows.add(&[
                ("oid", Datum::Oid(oid)),
                ("tmplname", text(name)),
                ("tmplnamespace", Datum::Oid(PG_CATALOG)),
                ("tmplinit", Datum::Oid(init)),
                ("tmpllexize", Datum::Oid(lexize)),
            ]);
        }
    }
}
