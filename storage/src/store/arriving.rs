//! Whether it is known what comes into a relation: see `segments::arrived`.

use repr::RelationId;
use rocksdb::ReadOptions;

use crate::keyspace;
use crate::rocks::Family;
use crate::store::Store;

impl Store {
    /// Whether what came into a relation is known.
    pub fn knows_arrived(&self, relation: RelationId) -> bool {
        self.segments().knows_arrived(relation)
    }

    /// Whether many rows that come into a relation may be known from now on.
    pub fn may_know_arriving(&self, relation: RelationId) -> bool {
        self.segments().knows_arrived(relation) || self.holds_no_row(relation)
    }

    /// Lets go of what came into segments that are told, and were last written to up to a sequence number; of all that came, if
    /// nothing will be told.
    pub fn settle_arrived(&self, relation: RelationId, written_until: u64, is_told: bool) {
        self.segments().settle(relation, written_until, is_told);
    }

    /// Whether no row of a relation is stored, where that is soon said.
    pub(crate) fn holds_no_row(&self, relation: RelationId) -> bool {
        const LOOKED_THROUGH_MAX: u64 = 1_000;
        let (db, prefix) = (self.db(), keyspace::relation(relation));
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(keyspace::successor(&prefix).unwrap_or_else(|| vec![0xff; 5]));
        options.set_max_skippable_internal_keys(LOOKED_THROUGH_MAX);
        let mut rows = db.raw_iterator_cf_opt(Family::Rows.handle(db), options);
        rows.seek(prefix);
        !rows.valid() && rows.status().is_ok()
    }
}
