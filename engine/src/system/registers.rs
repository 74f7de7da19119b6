//! The registers of a data-protection officer: `dogwood.inventory`, `processing_activities`, `data_map`, `retention_schedule` and
//! `impact_assessment`.
//!
//! All of it is read from the catalog and from the rows as they were committed; of it only counts are kept. Tables are those of the
//! session's database. What is temporary is its session's, and in no register.

pub(crate) mod ahead;
mod counting;

use crate::system::Catalogs;
use counting::{Count, Counted, ProcessingActivity, counted};
use planner::catalog::own_tables::is_own;
use planner::catalog::{Acl, Catalog, Privilege, Property, Retention, RoleId, Table};
use planner::ownership::{Dog, data_map, people_of};
use planner::system::{DATA_MAP, IMPACT_ASSESSMENT, INVENTORY, PROCESSING_ACTIVITIES, RETENTION_SCHEDULE};
use repr::id::is_temporary;
use repr::{Array, Datum, RelationId, Row};
use state::SqlError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Article 9(1), as words for categories begin.
const SPECIAL: [&str; 12] = [
    "biometric",
    "ethnic",
    "genetic",
    "health",
    "medical",
    "philosophical",
    "political",
    "racial",
    "religio",
    "sex life",
    "sexual",
    "trade union",
];
/// Article 10.
const CRIMINAL: [&str; 4] = ["conviction", "criminal", "offence", "offense"];

impl Catalogs {
    /// The rows of a register.
    pub(super) fn register(&self, relation: RelationId) -> Result<Vec<Row>, SqlError> {
        let register = Register::of(self);
        match relation {
            INVENTORY => register.inventory(),
            PROCESSING_ACTIVITIES => register.processing_activities(),
            RETENTION_SCHEDULE => register.retention_schedule(),
            IMPACT_ASSESSMENT => register.impact_assessment(),
            DATA_MAP => Ok(register.data_map()),
            _ => Ok(Vec::new()),
        }
    }
}

struct Register<'c> {
    catalogs: &'c Catalogs,
    catalog: Arc<Catalog>,
    dog: Dog,
}

impl<'c> Register<'c> {
    fn of(catalogs: &'c Catalogs) -> Self {
        let catalog = catalogs.context.environment.catalog().clone();
        let dog = Dog::new(&catalog);
        Register { catalogs, catalog, dog }
    }

    /// The stored tables, by schema and name.
    fn tables(&self) -> Vec<&Arc<Table>> {
        let mut tables: Vec<_> =
            self.catalog.stored_tables().filter(|table| !is_temporary(table.id.0) && !is_own(table.id.0)).collect();
        tables.sort_by_key(|table| (self.schema(table), &*table.name));
        tables
    }

    fn personal(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables().into_iter().filter(|table| self.dog.is_personal(table.id))
    }

    fn schema(&self, table: &Table) -> &str {
        self.catalog.namespace_name(table.namespace).unwrap_or_default()
    }

    /// What was committed of a table. Nothing, of one that no commit has made yet.
    fn counted(&self, table: RelationId) -> Result<Counted, SqlError> {
        // Within the statement, whose own snapshot is no younger: an erasure waits for that one.
        let published = self.catalogs.database.published.load_full();
        let now = self.catalogs.context.environment.transaction_timestamp();
        match published.schema.shape(table) {
            Some(shape) => counted(&published.snapshot, shape, now),
            None => Ok(Counted::default()),
        }
    }

    /// `dogwood.inventory`
    fn inventory(&self) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        for table in self.personal() {
            let counted = self.counted(table.id)?;
            let mut add = |property: Datum, value: Datum, count: &Count| {
                let (schema, name) = (text(self.schema(table)), text(&table.name));
                rows.push(Row::pack(&[schema, name, property, value, number(count.rows), number(count.people)]));
            };
            add(Datum::Null, Datum::Null, &counted.all);
            for (property, values) in &counted.values {
                for (value, count) in values {
                    add(text(&property.name()), optional(value.as_deref()), count);
                }
            }
        }
        Ok(rows)
    }

    /// `dogwood.data_map`
    fn data_map(&self) -> Vec<Row> {
        let name = |id| self.catalog.table(id).map(|table| self.catalog.full_name(table).into_owned());
        let mapped = data_map(&self.catalog).into_iter().filter_map(|mapped| {
            let table = self.catalog.table(mapped.table)?;
            Some(Row::pack(&[
                text(self.schema(table)),
                text(&table.name),
                text(mapped.tie.name()),
                optional(mapped.leads_to.and_then(name).as_deref()),
                optional(mapped.path.as_deref()),
                text(&mapped.on_erasure),
            ]))
        });
        mapped.collect()
    }
}

/// The record of processing (Art. 30).
impl Register<'_> {
    /// `dogwood.processing_activities`
    fn processing_activities(&self) -> Result<Vec<Row>, SqlError> {
        let mut by_purpose: BTreeMap<Option<Box<str>>, Vec<(&Arc<Table>, ProcessingActivity)>> = BTreeMap::new();
        for table in self.personal() {
            for (purpose, activity) in self.counted(table.id)?.activities {
                by_purpose.entry(purpose).or_default().push((table, activity));
            }
        }
        let declared = &self.catalog.rights.purposes;
        let idle = declared.keys().filter(|purpose| !by_purpose.contains_key(&Some(purpose.as_str().into())));
        let mut rows: Vec<Row> = idle.map(|purpose| self.activity(Some(purpose), None)).collect();
        for (purpose, activities) in &by_purpose {
            let activities =
                activities.iter().map(|(table, found)| self.activity(purpose.as_deref(), Some((table, found))));
            rows.extend(activities);
        }
        Ok(rows)
    }

    /// What is done for a purpose with one table, if anything.
    fn activity(&self, purpose: Option<&str>, of: Option<(&Table, &ProcessingActivity)>) -> Row {
        let declared = purpose.and_then(|purpose| self.catalog.rights.purposes.get(purpose));
        let table = of.map(|(table, _)| table);
        let said = |property| of.and_then(|(_, activity)| activity.said.get(&property));
        let list = |property| listed(said(property).into_iter().flatten().map(|word| &**word));
        let recipients: BTreeSet<&str> = [Property::SharedWith, Property::Recipient]
            .into_iter()
            .filter_map(said)
            .flat_map(|words| words.iter().map(|word| &**word))
            .collect();
        let names = |names: Vec<String>| listed(names.iter().map(String::as_str));
        let granted = declared.map(|purpose| purpose.grantees.iter().map(|role| self.role(*role)).collect());
        let people = table.map(|table| people_of(&self.catalog, &self.dog, table.id).into_iter().collect());
        let columns = table.map(|table| {
            let columns = table.live_columns().filter(|(_, column)| column.property.is_none());
            columns.map(|(_, column)| column.name.clone()).collect()
        });
        let count = of.map(|(_, activity)| activity.count);
        Row::pack(&[
            optional(purpose),
            Datum::Bool(declared.is_some()),
            optional(table.map(|table| self.schema(table))),
            optional(table.map(|table| &*table.name)),
            names(people.unwrap_or_default()),
            names(columns.unwrap_or_default()),
            list(Property::Category),
            list(Property::Basis),
            list(Property::Origin),
            listed(recipients.into_iter()),
            list(Property::Decisions),
            list(Property::Region),
            optional(table.map(retention).as_deref()),
            names(granted.unwrap_or_default()),
            names(table.map(|table| self.readers(table)).unwrap_or_default()),
            count.map_or(Datum::Null, |count| number(count.rows)),
            count.map_or(Datum::Null, |count| number(count.people)),
        ])
    }

    /// The roles that were granted SELECT on a table or one of its columns.
    fn readers(&self, table: &Table) -> Vec<String> {
        let rights = &self.catalog.rights;
        let columns = rights.columns.get(&table.id).into_iter().flat_map(BTreeMap::values);
        let owner = self.catalog.owner(table.id.0);
        let grantees = |acl: &Acl| {
            let items = acl.items.iter().filter(|item| item.privileges.has(Privilege::Select));
            items.map(|item| item.grantee).filter(|grantee| *grantee != Some(owner)).collect::<Vec<_>>()
        };
        let grantees = rights.acls.get(&table.id.0).into_iter().chain(columns).flat_map(grantees);
        grantees.map(|grantee| self.role(grantee)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn role(&self, role: Option<RoleId>) -> String {
        let Some(role) = role else { return "public".to_owned() };
        let actor = self.catalogs.context.environment.actor();
        actor.name_of(&self.catalog, role).map_or_else(|| role.0.to_string(), std::borrow::Cow::into_owned)
    }
}

/// By which rule a table's rows end.
fn retention(table: &Table) -> String {
    let mut ends = match table.property(Property::Expires) {
        Some(column) => format!("{} at \"{}\"", table.ends_by().done(), table.columns[column].name),
        None => "until erasure".to_owned(),
    };
    if let Some(Retention { retain, basis, .. }) = &table.retention {
        ends += &format!(", after {retain}");
        ends += &basis.as_ref().map_or_else(String::new, |basis| format!(" ({basis})"));
    }
    let holds: Vec<&str> = table.holds.iter().map(|hold| &*hold.name).collect();
    if holds.is_empty() { ends } else { format!("{ends}; rows are held: {}", holds.join(", ")) }
}

impl Register<'_> {
    /// `dogwood.retention_schedule`
    fn retention_schedule(&self) -> Result<Vec<Row>, SqlError> {
        let is_kept =
            |table: &&Arc<Table>| self.dog.is_personal(table.id) || table.property(Property::Expires).is_some();
        let mut rows = Vec::new();
        for table in self.tables().into_iter().filter(is_kept) {
            let Counted { all, ends, .. } = self.counted(table.id)?;
            let column = table.property(Property::Expires).map(|column| &table.columns[column]);
            let without = if column.is_some() { ends.without } else { all.rows };
            let moment = |at: Option<i64>| at.map_or(Datum::Null, Datum::Timestamptz);
            rows.push(Row::pack(&[
                text(self.schema(table)),
                text(&table.name),
                optional(column.map(|column| format!("EXPIRES {}", column.name)).as_deref()),
                optional(table.retention.as_ref().map(|retention| &*retention.retain)),
                optional(table.retention.as_ref().and_then(|retention| retention.basis.as_deref())),
                optional(column.map(|_| table.ends_by().name())),
                Datum::Bool(column.is_some_and(|column| !column.column_type.nullable || table.retention.is_some())),
                number(all.rows),
                number(without),
                number(ends.ended),
                moment(ends.first),
                moment(ends.last),
            ]));
        }
        Ok(rows)
    }
}

/// What an assessment of risks begins with (Art. 35).
impl Register<'_> {
    /// `dogwood.impact_assessment`
    fn impact_assessment(&self) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        for table in self.personal() {
            let counted = self.counted(table.id)?;
            let people = people_of(&self.catalog, &self.dog, table.id).into_iter().collect::<Vec<_>>().join(", ");
            let mut add = |input: &str, articles: &str, detail: Option<&str>, count: &Count| {
                rows.push(Row::pack(&[
                    text(input),
                    text(articles),
                    text(self.schema(table)),
                    text(&table.name),
                    optional(detail),
                    number(count.rows),
                    number(count.people),
                ]));
            };
            add("personal data", "35(7)a", Some(&people), &counted.all);
            for (property, input, articles) in
                [(Property::Purposes, "without purpose", "5(1)b"), (Property::Basis, "without basis", "6")]
            {
                match counted.values.get(&property) {
                    Some(values) => {
                        values.get(&None).iter().for_each(|count| add(input, articles, None, count));
                    }
                    None => add(input, articles, None, &counted.all),
                }
            }
            for (property, values) in &counted.values {
                for (value, count) in values {
                    let Some(value) = value.as_deref() else { continue };
                    for (input, articles) in inputs(*property, value) {
                        add(input, articles, Some(value), count);
                    }
                }
            }
            let regions: Vec<&str> = counted
                .values
                .get(&Property::Region)
                .into_iter()
                .flatten()
                .filter_map(|(region, _)| region.as_deref())
                .collect();
            if regions.len() > 1 {
                add("several regions", "44-46", Some(&regions.join(", ")), &counted.all);
            }
        }
        Ok(rows)
    }
}

/// What a value of a property means for the assessment, and by which articles.
fn inputs(property: Property, value: &str) -> Vec<(&'static str, &'static str)> {
    match property {
        Property::Category => {
            let lower = value.to_lowercase();
            let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            let special = says(&SPECIAL).then_some(("special category", "9, 35(3)b"));
            let criminal = says(&CRIMINAL).then_some(("criminal record", "10, 35(3)b"));
            [("category", "35(7)a")].into_iter().chain(special).chain(criminal).collect()
        }
        Property::Decisions => vec![("automated decision", "22, 35(3)a")],
        Property::SharedWith | Property::Recipient => vec![("sharing", "28, 35(7)a")],
        Property::Region => vec![("region", "44-46")],
        Property::Objections => vec![("objection", "21")],
        Property::Restricted => vec![("restriction", "18")],
        Property::Purposes
        | Property::Expires
        | Property::Origin
        | Property::Basis
        | Property::Consents
        | Property::Withdrawn => Vec::new(),
    }
}

fn text(value: &str) -> Datum {
    Datum::Text(value.into())
}

fn optional(value: Option<&str>) -> Datum {
    value.map_or(Datum::Null, text)
}

fn listed<'s>(values: impl Iterator<Item = &'s str>) -> Datum {
    Datum::Array(Arc::new(Array::vector(values.map(text).collect())))
}

fn number(value: u64) -> Datum {
    Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}
