//! What governs personal data, as relations of `dogwood`: purposes, properties, and what the server has for each article.

use super::{Rows, Source, array, flag, text};
use crate::catalog::own_tables::is_own;
use crate::catalog::{Property, Table};
use repr::Datum;
use std::sync::Arc;

/// What a server has of what the GDPR asks for: its name, the articles, and what it is.
const FEATURES: [(&str, &str, &str); 23] = [
    ("access", "15, 20", "GDPR GET, GDPR EXPORT"),
    ("anonymisation", "17, 25", "ON GET and ON DEL rules"),
    ("audit", "5(2), 30, 33", "dogwood.audit, dogwood verify"),
    ("backup", "32", "dogwood backup, dogwood restore; erasures are replayed"),
    ("breaches", "33, 34", "GDPR BREACH"),
    ("consent", "6(1)a, 7", "CREATE PURPOSE … BY CONSENT, CONSENTS and WITHDRAWN columns"),
    ("encryption at rest", "32", "each person's rows under that person's key"),
    ("encryption in transit", "32", "TLS, SCRAM-SHA-256"),
    ("erasure", "17", "GDPR FORGET"),
    ("expiry", "5(1)e, 17", "EXPIRES columns, GDPR PURGE"),
    ("grace", "17", "GDPR FORGET … GRACE, GDPR UNFORGET"),
    ("holds", "17(3)e, 18", "CREATE HOLD"),
    ("location", "46", "REGION columns"),
    ("notices", "16, 17, 18, 19", "dogwood.notices, GDPR NOTIFIED"),
    ("objections", "21", "OBJECTIONS columns"),
    ("ownership", "15, 17", "DATA_SUBJECT, OWNED_BY, OWNS, ACCESSED_BY, ACCESSES"),
    ("partial erasure", "17(1)", "GDPR FORGET … IN"),
    ("proof of erasure", "5(2), 17", "dogwood.receipts, dogwood.erasures, GDPR VERIFY DELETION"),
    ("purposes", "5(1)b, 6, 7", "PURPOSES columns, CREATE PURPOSE"),
    ("requests", "12(3)", "dogwood.requests, GDPR REQUEST, ANSWER, EXTEND"),
    ("retention", "5(1)e, 30(1)f", "WITH (retain, retain_basis, then), GDPR PURGE, GDPR DISCARD"),
    ("restriction", "18", "RESTRICTED columns, GDPR RESTRICT"),
    ("roles and row policies", "25, 28", "GRANT, CREATE POLICY, the kinds of dogwood roles"),
];

impl Source<'_> {
    /// A relation of `dogwood` that says what governs data.
    pub(super) fn governance(&self, name: &str, rows: &mut Rows) {
        match name {
            "purposes" => self.purposes(rows),
            "properties" => self.properties(rows),
            "holds" => self.holds(rows),
            "features" => self.features(rows),
            _ => {}
        }
    }

    /// `dogwood.purposes`
    fn purposes(&self, rows: &mut Rows) {
        for (name, purpose) in &self.catalog.rights.purposes {
            let grantees = purpose.grantees.iter();
            let grantees =
                grantees.map(|role| text(&role.map_or_else(|| "public".to_owned(), |role| self.called(role))));
            let granted_to = array(grantees.collect());
            rows.add(&[("purpose", text(name)), ("granted_to", granted_to), ("by_consent", flag(purpose.by_consent))]);
        }
    }

    /// `dogwood.holds`
    fn holds(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values() {
            for hold in &table.holds {
                let optional = |value: &Option<String>| value.as_deref().map_or(Datum::Null, text);
                rows.add(&[
                    ("hold", text(&hold.name)),
                    ("table_schema", self.schema(table.namespace)),
                    ("table_name", text(&table.name)),
                    ("condition", optional(&hold.expression)),
                    ("reason", optional(&hold.reason)),
                    ("made_by", text(&self.called(hold.by))),
                ]);
            }
        }
    }

    /// `dogwood.properties`: of tables that whoever asks may look at, in the session's database.
    fn properties(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values() {
            for (_, column) in table.live_columns() {
                let Some(property) = column.property else { continue };
                rows.add(&[
                    ("table_schema", self.schema(table.namespace)),
                    ("table_name", text(&table.name)),
                    ("column_name", text(&column.name)),
                    ("property", text(&property.name())),
                ]);
            }
        }
    }

    /// `dogwood.features`
    fn features(&self, rows: &mut Rows) {
        for (feature, articles, means) in FEATURES {
            rows.add(&[
                ("feature", text(feature)),
                ("articles", text(articles)),
                ("means", text(means)),
                ("in_use", flag(self.is_in_use(feature))),
            ]);
        }
    }

    /// Whether the schema makes use of a feature; what needs nothing of the schema is always in use.
    fn is_in_use(&self, feature: &str) -> bool {
        let made = || self.catalog.relations.values().filter(|table| !is_own(table.id.0));
        let any = |has: &dyn Fn(&Arc<Table>) -> bool| made().any(has);
        let holds = |property| any(&|table| table.property(property).is_some());
        match feature {
            "access" | "erasure" | "ownership" | "partial erasure" | "proof of erasure" => {
                any(&|table| table.data_subject)
            }
            "anonymisation" => any(&|table| !table.rules.is_empty()),
            "consent" => holds(Property::Consents),
            "expiry" => holds(Property::Expires),
            "holds" => any(&|table| !table.holds.is_empty()),
            "location" => holds(Property::Region),
            "notices" => holds(Property::SharedWith) || holds(Property::Recipient),
            "objections" => holds(Property::Objections),
            "purposes" => holds(Property::Purposes) && !self.catalog.rights.purposes.is_empty(),
            "retention" => any(&|table| table.retention.is_some()),
            "restriction" => holds(Property::Restricted),
            "roles and row policies" => !self.catalog.roles.is_empty(),
            _ => true,
        }
    }
}
