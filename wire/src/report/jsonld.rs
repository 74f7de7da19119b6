//! The report in the words of the W3C's Data Privacy Vocabulary (DPV 2), as JSON-LD.
//!
//! ```text
//! a row of dogwood.processing_activities ─▶ dpv:PersonalDataProcess with its purpose, data, people, recipients …
//! a table of dogwood.retention_schedule  ─▶ its dpv:StorageCondition
//! what dogwood.features has in use        ─▶ dpv:TechnicalMeasure
//! ```
//! What the schema says by words of its own (a purpose, a category, a basis) stands as the label of a concept, and is not
//! guessed to be one of the vocabulary's.

use super::{Document, Register};
use repr::{Datum, Jsonb};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The document.
pub(super) fn graph(document: &Document) -> String {
    let context = object([
        ("dpv", string("https://w3id.org/dpv#")),
        ("dct", string("http://purl.org/dc/terms/")),
        ("skos", string("http://www.w3.org/2004/02/skos/core#")),
        ("xsd", string("http://www.w3.org/2001/XMLSchema#")),
        ("dogwood", string("urn:dogwood:")),
    ]);
    let ends = document.register("dogwood.retention_schedule").map(storage_conditions).unwrap_or_default();
    let processes = document.register("dogwood.processing_activities").map(|register| {
        let numbered = register.rows.iter().enumerate();
        numbered.map(|(number, row)| process(register, number, row, &ends)).collect()
    });
    let measures = document.register("dogwood.features").map(measures);
    let whole = object([
        ("@context", context),
        ("@id", string(&format!("urn:dogwood:report:{}", encoded(&document.database)))),
        ("@type", string("dpv:RecordsOfActivities")),
        ("dct:title", string(&format!("Processing of personal data in database {}", document.database))),
        ("dct:created", string(&document.made_at)),
        ("dpv:hasPersonalDataProcess", array(processes.unwrap_or_default())),
        ("dpv:hasTechnicalMeasure", array(measures.unwrap_or_default())),
    ]);
    format!("{whole}\n")
}

/// What is done for a purpose with a table.
fn process(register: &Register, number: usize, row: &[Datum], ends: &BTreeMap<String, Jsonb>) -> Jsonb {
    let text = |column| register.text(row, column);
    let concepts =
        |column, kind: &str| array(register.list(row, column).iter().map(|label| concept(kind, label)).collect());
    let mut fields = vec![
        ("@id", string(&format!("urn:dogwood:process:{}", number + 1))),
        ("@type", string("dpv:PersonalDataProcess")),
        ("dpv:hasPersonalData", array(personal_data(register, row))),
        ("dpv:hasDataSubject", concepts("data_subjects", "dpv:DataSubject")),
        ("dpv:hasLegalBasis", concepts("bases", "dpv:LegalBasis")),
        ("dpv:hasDataSource", concepts("origins", "dpv:DataSource")),
        ("dpv:hasRecipient", concepts("recipients", "dpv:Recipient")),
        ("dpv:hasLocation", concepts("regions", "dpv:StorageLocation")),
        ("dpv:hasContext", concepts("decisions", "dpv:AutomatedDecisionMaking")),
        ("dogwood:grantedTo", array(register.list(row, "granted_to").iter().map(|role| string(role)).collect())),
        ("dogwood:readers", array(register.list(row, "readers").iter().map(|role| string(role)).collect())),
    ];
    if let Some(purpose) = text("purpose") {
        fields.push(("dpv:hasPurpose", concept("dpv:Purpose", &purpose)));
    }
    if let Some(table) = table_of(register, row) {
        fields.extend(ends.get(&table).map(|end| ("dpv:hasStorageCondition", end.clone())));
        fields.push(("dct:source", string(&table)));
    }
    for (name, column) in [("dogwood:rowCount", "row_count"), ("dogwood:subjectCount", "subject_count")] {
        fields.extend(text(column).map(|count| (name, number_of(&count))));
    }
    fields.retain(|(_, value)| !matches!(value, Jsonb::Array(items) if items.is_empty()));
    object(fields)
}

/// The columns, and what the rows say of their category.
fn personal_data(register: &Register, row: &[Datum]) -> Vec<Jsonb> {
    let columns = register.list(row, "columns").into_iter();
    let categories = register.list(row, "categories").into_iter();
    columns.chain(categories).map(|label| concept("dpv:PersonalData", &label)).collect()
}

fn storage_conditions(register: &Register) -> BTreeMap<String, Jsonb> {
    let condition = |row: &Vec<Datum>| {
        let rule = register.text(row, "rule").unwrap_or_else(|| "until erasure".to_owned());
        let mut fields = vec![("@type", string("dpv:StorageCondition")), ("skos:prefLabel", string(&rule))];
        fields.extend(register.text(row, "last_end").map(|end| ("dogwood:lastEnd", string(&end))));
        Some((table_of(register, row)?, object(fields)))
    };
    register.rows.iter().filter_map(condition).collect()
}

fn measures(register: &Register) -> Vec<Jsonb> {
    let in_use = register.rows.iter().filter(|row| register.value(row, "in_use") == Some(&Datum::Bool(true)));
    let measure = |row: &Vec<Datum>| {
        let text = |column| string(&register.text(row, column).unwrap_or_default());
        object([
            ("@type", string("dpv:TechnicalMeasure")),
            ("skos:prefLabel", text("feature")),
            ("dct:description", text("means")),
            ("dogwood:articles", text("articles")),
        ])
    };
    in_use.map(measure).collect()
}

fn table_of(register: &Register, row: &[Datum]) -> Option<String> {
    Some(format!("{}.{}", register.text(row, "table_schema")?, register.text(row, "table_name")?))
}

/// Something of the vocabulary's kind, by the schema's own word.
fn concept(kind: &str, label: &str) -> Jsonb {
    object([("@type", string(kind)), ("skos:prefLabel", string(label))])
}

fn number_of(digits: &str) -> Jsonb {
    digits.parse().map_or(Jsonb::Null, Jsonb::Number)
}

fn string(text: &str) -> Jsonb {
    Jsonb::string(text)
}

fn array(items: Vec<Jsonb>) -> Jsonb {
    Jsonb::Array(items.into())
}

fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Jsonb)>) -> Jsonb {
    Jsonb::object(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect())
}

/// A name as part of a URN.
fn encoded(name: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(letter).collect()
}
