//! EXPLAIN calls columns what the query calls them, on every rung: each word of it is the statement's, the schema's or
//! EXPLAIN's own, and what is qualified is a column of what it is qualified by. For the queries of `answers` and random ones.

#[path = "support/catalog.rs"]
mod catalog;

use catalog::{TABLES, catalog, table_id};
use planner::catalog::Catalog;
use planner::lower::{lower_query, plan_query};
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::{explain, parse, plan_lifted, transform};
use repr::{RelationId, ScalarType};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// EXPLAIN's own: operators, notes, names that it makes up, and functions that planning puts in.
const WORDS: &str = "regconfig regdictionary tsquery tsvector char lexeme positions weights tokid token alias description query finish filter get map project join inner left right full lateral on by to of with row key keys
    recursive peers groups union all except intersect distinct window order limit offset output compute keep where lookup lookupjoin
    range orderedscan scan beside read let letrec using primary index backwards each constant rows columns reduce topk atmostone
    negate threshold tablefunction ordinality semi anti subquery desc nulls first last in any if is pairs then lock for
    update view v and or as same found computed branch column ctid true false exists null
    coalesce count row_number rank sum min max avg array_agg unnest string_agg generate_series numeric integer bigint
    smallint text boolean character varying double precision bpchar date timestamp time zone interval without";

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    fn of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }
}

/// A random query in the making.
struct Query<'r> {
    random: &'r mut Random,
    /// What FROM items are called, and their columns.
    items: BTreeMap<String, Vec<String>>,
}

impl Query<'_> {
    fn fresh(&mut self, letter: &str, columns: Vec<String>) -> String {
        let name = format!("{letter}{}", self.items.len());
        self.items.insert(name.clone(), columns);
        name
    }

    /// A FROM item, and its whole numbers.
    fn item(&mut self, depth: usize) -> (String, Vec<String>) {
        if depth > 0 && self.random.below(3) == 0 {
            let (table, columns) = self.table();
            let column = self.random.of(&columns).clone();
            let name = self.fresh("d", vec!["k".into(), "n".into(), "m".into()]);
            let sql = match self.random.below(3) {
                0 => format!(
                    "(SELECT {column} AS k, count(*) AS n, max({column}) + 1 AS m FROM {table} GROUP BY {column}) {name}"
                ),
                1 => {
                    let (other, columns) = self.table();
                    let second = self.random.of(&columns).clone();
                    format!(
                        "(SELECT {column} AS k, 7 AS n, {column} AS m FROM {table} UNION SELECT {second}, {second}, 3 FROM {other}) {name}"
                    )
                }
                _ => format!(
                    "(SELECT {column} AS k, {column} * 2 AS n, rank() OVER (ORDER BY {column}) AS m FROM {table}) {name}"
                ),
            };
            return (sql, vec![format!("{name}.k"), format!("{name}.n"), format!("{name}.m")]);
        }
        self.table()
    }

    fn table(&mut self) -> (String, Vec<String>) {
        let (table, columns, ..) = *self.random.of(TABLES);
        let name = self.fresh("a", columns.iter().map(|(column, _)| (*column).to_string()).collect());
        let is_whole = |scalar: &ScalarType| matches!(scalar, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8);
        let whole = columns.iter().filter(|(_, scalar)| is_whole(scalar));
        (format!("{table} {name}"), whole.map(|(column, _)| format!("{name}.{column}")).collect())
    }

    fn condition(&mut self, columns: &[String], depth: usize) -> String {
        let left = self.random.of(columns).clone();
        match self.random.below(if depth > 0 { 9 } else { 6 }) {
            0 => format!("{left} > {}", self.random.below(9)),
            1 => format!("{left} IN (1, 2, {})", self.random.below(9)),
            2 => format!("({left} IS NULL OR {left} < {})", self.random.of(columns)),
            3..6 => format!("{left} = {}", self.random.of(columns)),
            6 => {
                let (table, own) = self.table();
                let both: Vec<String> = own.iter().chain(columns).cloned().collect();
                let condition = self.condition(&both, depth - 1);
                format!("EXISTS (SELECT 1 FROM {table} WHERE {condition})")
            }
            7 => {
                let (table, own) = self.table();
                let output = self.random.of(&own).clone();
                let not = if self.random.below(2) == 0 { "NOT " } else { "" };
                format!("{left} {not}IN (SELECT {output} FROM {table})")
            }
            _ => {
                let (table, own) = self.table();
                let inner = self.random.of(&own).clone();
                format!("{left} >= (SELECT max({inner}) FROM {table} WHERE {inner} <> {left})")
            }
        }
    }

    fn select(&mut self, depth: usize) -> String {
        let (mut from, mut columns) = self.item(depth);
        for _ in 0..self.random.below(3) {
            let (item, own) = self.item(depth);
            columns.extend(own);
            let on = self.condition(&columns, 0);
            let kind = *self.random.of(&["JOIN", "LEFT JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]);
            // PostgreSQL joins fully by equality alone.
            let kind = if kind == "FULL JOIN" && !on.contains(" = ") { "JOIN" } else { kind };
            let _ = write!(from, " {kind} {item} ON {on}");
        }
        let mut condition = self.condition(&columns, depth);
        if self.random.below(2) == 0 {
            let word = *self.random.of(&["AND", "OR"]);
            condition = format!("{condition} {word} {}", self.condition(&columns, depth));
        }
        let (one, two) = (self.random.of(&columns).clone(), self.random.of(&columns).clone());
        match self.random.below(5) {
            0 => format!(
                "SELECT {one} AS p, count(*) AS q, sum({two}) FROM {from} WHERE {condition} GROUP BY {one} HAVING count(*) > 1 ORDER BY q DESC, p"
            ),
            1 => format!(
                "SELECT {one} + 1 AS p, {two} AS q, coalesce({one}, {two}, 4) FROM {from} WHERE {condition} ORDER BY p LIMIT 3"
            ),
            2 => format!(
                "SELECT DISTINCT ON ({one}) {one}, {two} FROM {from} WHERE {condition} ORDER BY {one}, {two} DESC"
            ),
            3 => format!(
                "SELECT {one}, row_number() OVER (PARTITION BY {one} ORDER BY {two}) AS q, {two} FROM {from} WHERE {condition}"
            ),
            _ => format!("SELECT {one}, CASE WHEN {one} > 3 THEN {two} END AS q FROM {from} WHERE {condition}"),
        }
    }
}

/// All that EXPLAIN says of a query; none if it cannot be planned.
fn explained(sql: &str, catalog: &Catalog) -> Option<String> {
    let parsed = parse::parse(sql).ok()?;
    let (resolved, _) = resolve(&parsed[0], catalog, &SessionInfo::default(), &[]).ok()?;
    let Resolved::Query(hir) = resolved else { return None };
    let forms = |relation: RelationId| [3, 7].map(table_id).contains(&relation);
    let mut text = explain::hir(&hir, catalog);
    text += &explain::mir(&lower_query(&hir, catalog).ok()?, catalog);
    text += &explain::mir(&transform::optimize(lower_query(&hir, catalog).ok()?, catalog).ok()?, catalog);
    text += &explain::plan(&plan_query(&hir, catalog, &forms).ok()?, catalog);
    if let Some(Ok(lifted)) = plan_lifted(&parsed[0], catalog, &[], planner::lift::RANKS_HELD[0]).ok()? {
        let read = explain::view_read(&lifted, &hir.columns, "v", catalog);
        for operator in read.operators {
            let _ = writeln!(text, "{}", operator.text);
        }
        let _ = writeln!(text, "{}", read.keys.join(", "));
    }
    Some(text)
}

/// Without what stands in quotes.
fn without_strings(text: &str) -> String {
    text.split('\'').step_by(2).collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|next: char| !(next.is_alphanumeric() || next == '_' || next == '.'))
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase() || first == '_'))
}

/// A name without the number that tells it from another.
fn bare(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((bare, number)) if number.chars().all(|digit| digit.is_ascii_digit()) => bare,
        _ => name,
    }
}

/// What is wrong with what is said of a query, whose FROM items have these columns as far as that is known.
fn wrong(sql: &str, text: &str, catalog: &Catalog, items: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let text = without_strings(text);
    let lower = sql.to_lowercase();
    let mut known: BTreeSet<&str> =
        WORDS.split_whitespace().chain(words(&lower).flat_map(|word| word.split('.'))).collect();
    for table in catalog.relations.values() {
        known.insert(&table.name);
        known.extend(table.columns.iter().map(|column| column.name.as_str()));
        known.extend(table.indexes.iter().map(|index| index.name.as_str()));
    }
    let mut wrong = Vec::new();
    if text.as_bytes().windows(2).any(|pair| pair[0] == b'#' && pair[1].is_ascii_digit()) {
        wrong.push("a position".to_owned());
    }
    let is_local = |word: &str| {
        let number = word.strip_prefix("cte").or_else(|| word.strip_prefix('l'));
        number.is_some_and(|number| !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()))
    };
    for word in words(&text) {
        if !word.split('.').all(|part| {
            known.contains(part) || known.contains(bare(part)) || is_local(part) || bare(part).starts_with("column")
        }) {
            wrong.push(word.to_owned());
        }
        let Some((item, column)) = word.split_once('.') else { continue };
        let columns = items.get(item).or_else(|| items.get(bare(item)));
        if columns.is_some_and(|columns| column != "ctid" && !columns.iter().any(|own| own == column)) {
            wrong.push(word.to_owned());
        }
    }
    wrong
}

#[test]
fn known_queries_are_explained_in_their_own_words() {
    let catalog = catalog();
    let mut count = 0;
    for sql in include_str!("answers/queries.sql").lines().filter(|line| !line.starts_with("--") && !line.is_empty()) {
        let Some(text) = explained(sql, &catalog) else { continue };
        let wrong = wrong(sql, &text, &catalog, &BTreeMap::new());
        assert!(wrong.is_empty(), "{sql}\n{text}{wrong:?}");
        count += 1;
    }
    assert!(count > 150, "{count} queries were explained");
}

#[test]
fn random_queries_are_explained_in_their_own_words() {
    let catalog = catalog();
    let mut random = Random(7);
    let mut count = 0;
    for _ in 0..1500 {
        let mut query = Query { random: &mut random, items: BTreeMap::new() };
        let sql = query.select(2);
        let items = query.items;
        let Some(text) = explained(&sql, &catalog) else { continue };
        let wrong = wrong(&sql, &text, &catalog, &items);
        assert!(wrong.is_empty(), "{sql}\n{text}{wrong:?}");
        count += 1;
    }
    assert!(count > 1200, "{count} queries were explained");
}

/// A column that comes out as it is stored is called what it is called there, or what the query calls it.
#[test]
fn outputs_are_the_columns_that_they_say() {
    let catalog = catalog();
    let mut random = Random(11);
    let mut seen = 0;
    for _ in 0..1500 {
        let mut query = Query { random: &mut random, items: BTreeMap::new() };
        let sql = query.select(1);
        let parsed = parse::parse(&sql).expect("random queries are SQL");
        let Ok((Resolved::Query(hir), _)) = resolve(&parsed[0], &catalog, &SessionInfo::default(), &[]) else {
            continue;
        };
        let forms = |_: RelationId| false;
        let Ok(plan) = plan_query(&hir, &catalog, &forms) else { continue };
        let text = explain::plan(&plan, &catalog);
        let first = text.lines().next().unwrap_or_default();
        let (_, list) = first.split_once(" output (").expect("the result is said first");
        let shown = list.strip_suffix(')').unwrap_or(list);
        for (text, column) in split(shown).into_iter().zip(&plan.columns) {
            let Some((relation, place)) = column.origin else { continue };
            let stored = &catalog.table(relation).expect("it is a table").columns[place].name;
            let (name, _) = text.split_once(" AS ").unwrap_or((&text, ""));
            let own = name.rsplit_once('.').map_or(name, |(_, own)| own);
            assert!(own == stored || own == column.name, "{sql}\n{first}\n{text} is {stored}");
            seen += 1;
        }
    }
    assert!(seen > 1000, "{seen} columns were seen");
}

/// A list by its commas, but for those in parentheses.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for next in list.chars() {
        depth += i32::from(next == '(') - i32::from(next == ')');
        match (next, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (' ', Some(part)) if part.is_empty() => {}
            (next, Some(part)) => part.push(next),
            (_, None) => {}
        }
    }
    parts
}
