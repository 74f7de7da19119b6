//! The house's rules that a machine can hold: arrows between the crates, one package one room, and the shape of files.
//!
//! Reads the sources as text, and needs no parser: what it looks for is written in one way only.

mod functions;
mod imports;
mod structs;

use imports::{Imports, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A crate, its folder, and the crates of the house that it may stand on.
const ROOMS: [(&str, &str, &[&str]); 12] = [
    ("repr", "storage/repr", &[]),
    ("storage", "storage", &["repr"]),
    ("planner", "planner", &["repr"]),
    ("arrangements", "engine/arrangements", &["repr", "planner"]),
    ("state", "engine/state", &["repr", "storage", "planner", "arrangements"]),
    ("operators", "engine/operators", &["repr", "planner", "arrangements", "state"]),
    ("views", "engine/views", &["repr", "storage", "planner", "arrangements", "state", "operators"]),
    ("transactions", "engine/transactions", &["repr", "storage", "planner", "state", "operators", "views"]),
    (
        "subject_requests",
        "engine/subject_requests",
        &["repr", "storage", "planner", "state", "operators", "transactions"],
    ),
    (
        "engine",
        "engine",
        &["repr", "storage", "planner", "state", "operators", "views", "transactions", "subject_requests"],
    ),
    ("wire", "wire", &["repr", "engine"]),
    ("benches", "benches", &[]),
];

/// Packages that these rooms alone may know.
const ONE_ROOM: [(&str, &[&str]); 10] = [
    ("sqlparser", &["planner"]),
    ("timely", DATAFLOW),
    ("differential-dataflow", DATAFLOW),
    ("rocksdb", &["storage"]),
    ("libsodium-sys-stable", &["storage"]),
    ("pgwire", &["wire"]),
    ("tokio", &["wire"]),
    ("rustls", &["wire"]),
    ("rcgen", &["wire"]),
    ("tracing-subscriber", &["wire"]),
];

/// The rooms that dataflows are made in.
const DATAFLOW: &[&str] = &["arrangements", "operators", "views"];

/// Of these, what the measurements' clients need for TLS: they are no part of the server.
const OF_CLIENTS: [&str; 3] = ["tokio", "rustls", "rcgen"];

/// What may stand at the top of the project.
const TOP: [&str; 15] = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "benches",
    "docs",
    "engine",
    "notebooks",
    "planner",
    "storage",
    "wire",
];

/// What a new SQL type touches: the first four, and the others if its values are none of those that `Datum` holds.
const FILES_OF_A_TYPE: [&str; 8] = [
    "storage/repr/src/types/table.rs",
    "storage/repr/src/text.rs",
    "wire/src/types/binary.rs",
    "planner/src/scalar/cast/evaluate.rs",
    "storage/repr/src/datum.rs",
    "storage/repr/src/value.rs",
    "storage/repr/src/row.rs",
    "storage/repr/src/key.rs",
];

/// The longest that a file may be, without its tests.
const LINES_MAX: usize = 700;

/// The longest that README.md may be: what is more belongs into docs.
const README_WORDS_MAX: usize = 600;

/// The most files that may import each other in a circle.
const CIRCLE_FILES_MAX: usize = 6;

/// The longest that a function may be: a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Those that are longer still, and why. The list only shrinks: one that fits has to leave it.
const LONG_FUNCTIONS: [(&str, &str, &str); 4] = [
    (
        "engine/operators/src/ordered_groups.rs",
        "reduce_in_order",
        "one operator, whose closures share what it is made of",
    ),
    ("planner/src/parse/limits.rs", "check", "one walk over the tokens, a case for each kind"),
    ("planner/src/resolve/expr.rs", "expr_inner", "one match over the parser's expressions"),
    ("planner/src/scalar/eval.rs", "eval", "one match over expressions, which runs for each row"),
];

/// The most fields that a struct may have: more hide a noun.
const FIELDS_MAX: usize = 8;

/// The most types of one name in the server's crates: more is a word that says nothing.
const NAMESAKES_MAX: usize = 3;

/// Those that have more, and why. The list only shrinks: one that has fewer has to leave it.
const LARGE_STRUCTS: [(&str, &str, &str); 42] = [
    ("storage/src/erasure/history.rs", "Moments", "a moment for each column of dogwood.erasures that a pass fills"),
    ("engine/src/session/env.rs", "Everyday", "the settings that each statement looks at"),
    ("engine/src/session.rs", "Session", "the parts of a session, each a noun of its own"),
    (
        "engine/src/session/subscribed.rs",
        "Subscribed",
        "what a subscription gives, by whom it is watched and who is told",
    ),
    ("engine/src/session/plan.rs", "Prepared", "a statement as it was written, parsed, described and planned"),
    ("engine/state/src/config.rs", "Config", "one field for each thing that the program is told when it starts"),
    ("engine/state/src/error.rs", "SqlError", "the fields of an error as the protocol has them"),
    (
        "engine/state/src/layered_snapshot.rs",
        "LayeredSnapshot",
        "a snapshot, and each thing that is said of how it is read",
    ),
    ("engine/state/src/overlay.rs", "Overlay", "what a transaction changes, kind by kind, and who"),
    ("engine/state/src/settings/table.rs", "KnownSetting", "a row of the table of settings"),
    ("engine/state/src/shape.rs", "TableShape", "what every write asks of a table, found once for each catalog"),
    ("engine/transactions/src/commit.rs", "Committer", "what the commit stage stands on, and where it hands on"),
    ("engine/transactions/src/database.rs", "Database", "the parts that all sessions share"),
    ("engine/transactions/src/transaction.rs", "Savepoint", "how far each part of a transaction had come"),
    ("engine/views/src/inspection.rs", "Inspected", "a row of what is shown of views' operators"),
    ("planner/src/catalog.rs", "Catalog", "the catalog as it is stored"),
    ("planner/src/catalog/foreign_key.rs", "ForeignKey", "a foreign key as it is stored"),
    ("planner/src/catalog.rs", "Sequence", "a sequence as it is stored"),
    ("planner/src/catalog.rs", "Table", "a table as it is stored"),
    ("planner/src/lift.rs", "Lifted", "a view and its reader, as they are planned together"),
    ("planner/src/parse/definition.rs", "CreateIndex", "a statement, clause by clause"),
    ("planner/src/parse/definition.rs", "CreateTable", "a statement, clause by clause"),
    ("planner/src/parse/definition.rs", "SequenceOptions", "the clauses of a sequence"),
    ("planner/src/parse/template.rs", "TemplateScanner", "one scan over a text: what stands around the token at hand"),
    ("planner/src/parse/utility.rs", "CopyOptions", "one field for each option of COPY"),
    ("planner/src/resolve.rs", "Resolver", "what every step of resolving looks at"),
    ("planner/src/resolve/scope.rs", "Binding", "what FROM says of one of its items"),
    ("planner/src/scalar/env.rs", "ListedSetting", "a row of pg_settings"),
    ("planner/src/scalar/env/session_acts.rs", "ListedSession", "a row of pg_stat_activity"),
    ("storage/repr/src/datetime/parse.rs", "MomentParts", "what has been read of a date, piece by piece"),
    ("storage/repr/src/to_char/number/template.rs", "NumberTemplate", "what a template asks for, pattern by pattern"),
    ("storage/repr/src/to_char/number.rs", "NumberWriter", "one pass over a template: what has been written"),
    ("storage/repr/src/to_char/parse.rs", "Read", "one field for each pattern that can be read"),
    ("storage/repr/src/types/table.rs", "More", "a column of the table of types each"),
    ("storage/src/audit/entry.rs", "AuditEntry", "an entry of the audit log, before it is sealed"),
    ("storage/src/audit/logged.rs", "LoggedEntry", "an entry of the audit log, as it is written"),
    ("storage/src/audit/verify.rs", "ReceiptSummary", "a receipt, as it was signed"),
    ("storage/src/keyring.rs", "Keyring", "its parts have locks of their own, taken in a fixed order"),
    ("storage/src/loss_report.rs", "Loss", "a report to the operator, figure by figure"),
    ("storage/src/store.rs", "Inner", "the parts of an open store; the folder's lock is the last that goes"),
    ("storage/src/store.rs", "StoreStatistics", "one field for each figure that is shown"),
    ("wire/src/arguments.rs", "Serve", "one field for each argument of the command"),
];

fn root() -> PathBuf {
    std::env::current_dir()
        .expect("cargo runs tests in the crate")
        .parent()
        .expect("the crate stands in the project")
        .to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The packages that a manifest's tables of dependencies name; those for tests only if asked for.
fn dependencies(manifest: &str, with_tests: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut table = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            table = line;
        } else if table == "[dependencies]" || (with_tests && table == "[dev-dependencies]") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('#') {
                found.insert(name.to_string());
            }
        }
    }
    found
}

fn manifest(folder: &str) -> String {
    read(&root().join(folder).join("Cargo.toml"))
}

/// Every Rust file of the project.
fn sources() -> Vec<PathBuf> {
    fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    gather(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["storage", "planner", "engine", "wire", "benches"] {
        gather(&root().join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() > 100, "the sources were found");
    found
}

/// The files of which something is true, as a list to show.
fn those(wrong: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let root = root();
    let shown = |path: &PathBuf| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    sources().iter().filter(|path| wrong(path, &read(path))).map(shown).collect()
}

#[test]
fn arrows_between_rooms_point_one_way() {
    let names: BTreeSet<&str> = ROOMS.iter().map(|(name, ..)| *name).collect();
    for (name, folder, allowed) in ROOMS {
        let used = dependencies(&manifest(folder), false);
        let used: BTreeSet<&str> = used.iter().map(String::as_str).filter(|used| names.contains(used)).collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert!(used.is_subset(&allowed), "{name} stands on {used:?}, and may stand on {allowed:?} only");
    }
}

#[test]
fn the_map_in_the_documents_is_that_of_the_manifests() {
    let tour = read(&root().join("docs/src/inside/tour.md"));
    let (_, map) = tour.split_once("| crate | stands on |").expect("the tour has a map of the crates");
    let names: BTreeSet<&str> = ROOMS.iter().map(|(name, ..)| *name).collect();
    for (name, folder, _) in ROOMS {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/src/inside/tour.md has no row for {name}"));
        let cell = row.split('|').nth(2).unwrap_or_default();
        let shown: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
        let used = dependencies(&manifest(folder), false);
        let used: BTreeSet<&str> = used.iter().map(String::as_str).filter(|used| names.contains(used)).collect();
        assert_eq!(shown, used, "what {name} stands on, in docs/src/inside/tour.md");
    }
}

#[test]
fn a_package_has_one_room() {
    for (package, rooms) in ONE_ROOM {
        for (name, folder, _) in ROOMS {
            if !(rooms.contains(&name) || name == "benches" && OF_CLIENTS.contains(&package)) {
                let used = dependencies(&manifest(folder), true);
                assert!(!used.contains(package), "{name} uses {package}, which is for {rooms:?} alone");
            }
        }
    }
}

#[test]
fn dependencies_are_read_from_manifests() {
    let text = "[package]\nname = \"x\"\n[dependencies]\nrepr.workspace = true\n# no\nserde = \"1\"\n[dev-dependencies]\ncsv = { version = \"1\" }\n";
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(dependencies(text, false), set(&["repr", "serde"]));
    assert_eq!(dependencies(text, true), set(&["repr", "serde", "csv"]));
}

#[test]
fn the_top_level_is_fixed() {
    // What a build and a measurement leave behind is not the project's.
    let left = |name: &str| {
        name == "target" || (name.starts_with("bench-") && (name.ends_with(".json") || name.ends_with(".md")))
    };
    let known = |name: &str| name.starts_with('.') || left(name) || TOP.contains(&name);
    let entries = fs::read_dir(root()).expect("the project can be read");
    let names = entries.map(|entry| entry.expect("the entry can be read").file_name().to_string_lossy().into_owned());
    let unknown: Vec<String> = names.filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "nothing else stands at the top: {unknown:?}");
}

/// The variants of an enumeration that a text names.
fn named<'t>(text: &'t str, enumeration: &str) -> BTreeSet<&'t str> {
    let after = text.split(enumeration).skip(1);
    let variant = |rest: &'t str| {
        let name = rest.strip_prefix("::")?;
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        Some(&name[..end]).filter(|name| name.starts_with(|letter: char| letter.is_ascii_uppercase()))
    };
    after.filter_map(variant).collect()
}

fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[test]
fn a_new_type_touches_at_most_eight_files() {
    for file in FILES_OF_A_TYPE {
        assert!(root().join(file).exists(), "{file} is among the files of a type, and is not there");
    }
    for (enumeration, of) in [("ScalarType", "text.rs"), ("Datum", "key.rs"), ("Value", "row.rs")] {
        // A file that dispatches on all of them: the one that says how many there are.
        let all = named(without_tests(&read(&root().join("storage/repr/src").join(of))), enumeration).len();
        assert!(all > 20, "{of} has a case for each {enumeration}, and {all} were found");
        let lists = those(|path, text| {
            let is_test = path.iter().any(|part| part == "tests");
            let is_known = FILES_OF_A_TYPE.iter().any(|file| path.ends_with(file));
            !is_test && !is_known && named(without_tests(text), enumeration).len() * 4 > all * 3
        });
        assert!(
            lists.is_empty(),
            "these have lists of {enumeration}; what they say of a type belongs into storage/repr/src/types/table.rs: {lists:#?}"
        );
    }
}

#[test]
fn variants_are_found_in_text() {
    let text = "Datum::Int2(x) | Datum::Int2(_) | Datum::is_null | MyDatum::Text, Datum::Null";
    assert_eq!(named(text, "Datum"), BTreeSet::from(["Int2", "Text", "Null"]));
}

#[test]
fn every_file_says_what_it_is() {
    let silent = those(|_, text| !text.starts_with("//! "));
    assert!(silent.is_empty(), "these open without //!: {silent:#?}");
}

#[test]
fn files_are_short() {
    let long = those(|_, text| without_tests(text).lines().count() > LINES_MAX);
    assert!(long.is_empty(), "these have over {LINES_MAX} lines without their tests: {long:#?}");
}

#[test]
fn few_files_import_each_other_in_a_circle() {
    let root = root();
    for (name, folder, _) in ROOMS {
        let src = root.join(folder).join("src");
        let mut files: BTreeMap<Module, String> = BTreeMap::new();
        for path in sources() {
            // A program of its own beside the crate is a crate, too.
            if let Ok(place) = path.strip_prefix(&src)
                && !place.starts_with("bin")
            {
                files.insert(imports::module(place), read(&path));
            }
        }
        let imports = Imports::read(&files);
        for circle in imports.circles() {
            let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            assert!(circle.len() <= CIRCLE_FILES_MAX, "{name}: {} files import each other: {names:#?}", circle.len());
        }
    }
}

#[test]
fn functions_fit_a_screen() {
    let root = root();
    let mut long = Vec::new();
    for path in sources() {
        for (name, lines) in functions::lengths(&read(&path)) {
            if lines > FUNCTION_LINES_MAX {
                long.push((path.strip_prefix(&root).unwrap_or(&path).display().to_string(), name));
            }
        }
    }
    long.sort();
    let known = LONG_FUNCTIONS.map(|(file, name, _)| (file.to_string(), name.to_string()));
    let new: Vec<_> = long.iter().filter(|found| !known.contains(found)).collect();
    assert!(new.is_empty(), "these have over {FUNCTION_LINES_MAX} lines: {new:#?}");
    let short: Vec<_> = known.iter().filter(|known| !long.contains(known)).collect();
    assert!(short.is_empty(), "these fit a screen, and leave the list of those that do not: {short:#?}");
}

#[test]
fn structs_have_few_fields_or_a_reason() {
    let root = root();
    let mut large = Vec::new();
    for path in sources() {
        let file = path.strip_prefix(&root).unwrap_or(&path);
        if file.starts_with("benches") || !file.iter().any(|part| part == "src") {
            continue;
        }
        for (name, fields) in structs::fields(&read(&path)) {
            if fields > FIELDS_MAX {
                large.push((file.display().to_string(), name));
            }
        }
    }
    let known = LARGE_STRUCTS.map(|(file, name, _)| (file.to_string(), name.to_string()));
    let new: Vec<_> = large.iter().filter(|found| !known.contains(found)).collect();
    assert!(new.is_empty(), "these have over {FIELDS_MAX} fields; which of them belong together? {new:#?}");
    let small: Vec<_> = known.iter().filter(|known| !large.contains(known)).collect();
    assert!(small.is_empty(), "these have few fields, and leave the list of those that do not: {small:#?}");
}

#[test]
fn few_types_have_one_name() {
    let root = root();
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources() {
        let file = path.strip_prefix(&root).unwrap_or(&path);
        if file.starts_with("benches") || !file.iter().any(|part| part == "src") {
            continue;
        }
        let text = read(&path);
        for name in without_tests(&text).lines().filter_map(structs::type_name) {
            named.entry(name.to_string()).or_default().push(file.display().to_string());
        }
    }
    assert!(named.len() > 500, "the types were found");
    named.retain(|_, files| files.len() > NAMESAKES_MAX);
    assert!(named.is_empty(), "more than {NAMESAKES_MAX} types have one name; which noun is each? {named:#?}");
}

/// Numbers by which one way of finding rows is weighed against another; only those who choose read them. `KEYS_MAX` is a limit, too.
#[test]
fn what_ways_are_worth_stands_in_one_file() {
    let chooses = |path: &Path| {
        path.ends_with("engine/operators/src/access.rs")
            || path.parent().is_some_and(|folder| folder.ends_with("physical"))
    };
    let is_number =
        |line: &str| line.contains("const ") && [": f64 =", ": usize ="].iter().any(|kind| line.contains(kind));
    let beside = those(|path, text| {
        // How many candidates a step of a join looks at weighs none of them.
        let numbers = || text.lines().filter(|line| is_number(line) && !line.contains("CANDIDATES_MAX")).count();
        chooses(path) && !path.ends_with("physical/costs.rs") && numbers() > 0
    });
    assert!(beside.is_empty(), "what a way is worth stands outside physical/costs.rs: {beside:#?}");
    let named = ["physical", "costs"].join("::");
    let limit = [named.as_str(), "KEYS_MAX"].join("::");
    let read = those(|path, text| !chooses(path) && text.matches(&named).count() > text.matches(&limit).count());
    assert!(read.is_empty(), "ways are weighed below those who choose: {read:#?}");
}

#[test]
fn each_way_and_its_numbers_stand_in_the_page_of_explain() {
    let page = read(&root().join("docs/src/reference/explain.md"));
    let plan = read(&root().join("planner/src/plan.rs"));
    let (_, words) = plan.split_once("impl Way {").expect("the ways in which rows are found");
    let words = words.split_once("\n}\n").map_or(words, |(words, _)| words);
    let words: Vec<&str> = words.split('"').skip(1).step_by(2).collect();
    assert!(words.len() >= 8, "the words of {} ways were found", words.len());
    let missing: Vec<&str> = words.into_iter().filter(|word| !page.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/src/reference/explain.md has no row for what is read: {missing:#?}");
    let costs = read(&root().join("planner/src/physical/costs.rs"));
    let numbers = costs.lines().filter_map(|line| line.split_once("const ")?.1.split(':').next());
    let missing: Vec<&str> = numbers.filter(|number| !page.contains(&format!("`{number}`"))).collect();
    assert!(missing.is_empty(), "docs/src/reference/explain.md says nothing of {missing:#?}");
}

/// "View" means what SQL means by it, and what is maintained for it.
#[test]
fn a_snapshot_is_called_snapshot() {
    let of_type = |line: &str| {
        let Some((_, declared)) = line.split_once("view: ") else { return false };
        let declared = declared.split(&[',', ')', '}'][..]).next().unwrap_or_default();
        declared.contains("Snapshot")
    };
    let made = |line: &str| {
        let line = line.trim_start();
        ["let view = ", "let mut view = "].iter().filter_map(|start| line.strip_prefix(start)).any(|made| {
            let made = made.split(';').next().unwrap_or_default();
            made.contains("LayeredSnapshot::new(") || made.ends_with("snapshot()") || made.ends_with("snapshot()?")
        })
    };
    let named = those(|_, text| text.lines().any(|line| of_type(line) || made(line)));
    assert!(named.is_empty(), "these call a snapshot a view: {named:#?}");
}

#[test]
fn the_readme_is_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "README.md has {words} words, {README_WORDS_MAX} at most");
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let words = [["todo", "!("].concat(), ["unimplemented", "!("].concat(), ["#[ign", "ore"].concat()];
    let unfinished = those(|_, text| words.iter().any(|word| text.contains(word)));
    assert!(unfinished.is_empty(), "these leave something for later: {unfinished:#?}");
}

#[test]
fn modules_have_one_spelling() {
    let strays = those(|path, _| path.ends_with("mod.rs") && !path.iter().any(|part| part == "tests"));
    assert!(strays.is_empty(), "a module is foo.rs beside foo/: {strays:#?}");
}

#[test]
fn unsafe_code_has_two_places() {
    const PLACES: [&str; 2] = ["storage/src/crypto.rs", "wire/src/wiping_allocator.rs"];
    let word = ["allow(unsafe", "_code"].concat();
    let found = those(|path, text| text.contains(&word) && !PLACES.iter().any(|place| path.ends_with(place)));
    assert!(found.is_empty(), "unsafe code is allowed outside the libsodium boundary and the allocator: {found:#?}");
}
