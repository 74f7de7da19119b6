//! The functions that there are: by OID, by name, and as SQL writes them.

use super::{OF_EXTENSIONS, Record, listed, listed_of_extension, type_name};
use crate::scalar::func::quote_identifier;
use crate::scalar::registry;
use repr::Id;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// The first OID of functions that PostgreSQL does not have.
const FIRST_OWN: Id = 8_000;

/// What expressions become, and what SQL's own syntax is evaluated by: nobody calls it by such a name.
const FORMS: [&str; 22] = [
    "_pg_expandarray",
    "array_set_element",
    "array_set_slice",
    "array_slice",
    "array_subscript",
    "current_date",
    "current_time",
    "current_timestamp",
    "greatest",
    "hstore_set_element",
    "jsonb_set_element",
    "least",
    "localtime",
    "localtimestamp",
    "name_subscript",
    "pg_sequence_row",
    "record_field",
    "record_set_field",
    "rows_skipped",
    "rows_up_to",
    "rows_with_ties",
    "trim",
];

/// A function, an aggregate or a window function.
pub(crate) struct Function {
    /// `pg_proc.oid`
    pub(crate) oid: Id,
    /// Its name.
    pub(crate) name: &'static str,
    /// The types of its arguments.
    pub(crate) arguments: Vec<Id>,
    /// The type of its result.
    pub(crate) result: Id,
    /// What PostgreSQL says of it, if it is PostgreSQL's.
    pub(crate) record: Option<Record>,
    /// Whether it is an extension's.
    pub(crate) of_extension: bool,
}

struct Functions {
    all: Vec<Function>,
    by_id: BTreeMap<Id, usize>,
    by_name: BTreeMap<&'static str, Vec<usize>>,
}

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let recorded = |row: Record, of_extension| Function {
        oid: row.id("oid"),
        name: row.text("proname"),
        arguments: arguments(&row),
        result: row.id("prorettype"),
        record: Some(row),
        of_extension,
    };
    let mut all: Vec<Function> = listed("pg_proc").map(|row| recorded(row, false)).collect();
    let of_extensions = OF_EXTENSIONS.into_iter().flat_map(|name| listed_of_extension(name, "pg_proc"));
    let known: std::collections::BTreeSet<&str> =
        all.iter().map(|function| function.name).chain(of_extensions.map(|row| row.text("proname"))).collect();
    let is_own = |name: &str| {
        let is_called = !FORMS.contains(&name)
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte));
        is_called && !known.contains(name)
    };
    for (place, (name, arguments, result)) in registry::signatures().filter(|(name, ..)| is_own(name)).enumerate() {
        all.push(Function { oid: FIRST_OWN + place as Id, name, arguments, result, record: None, of_extension: false });
    }
    for extension in OF_EXTENSIONS {
        all.extend(listed_of_extension(extension, "pg_proc").map(|row| recorded(row, true)));
    }
    let mut functions = Functions { all, by_id: BTreeMap::new(), by_name: BTreeMap::new() };
    for (place, function) in functions.all.iter().enumerate() {
        functions.by_id.insert(function.oid, place);
        if !function.of_extension {
            functions.by_name.entry(function.name).or_default().push(place);
        }
    }
    functions
});

/// Whether SQL can call it, or another catalog relation names it.
pub(super) fn is_listed(row: &Record) -> bool {
    row.flag("named") || registry::is_callable(row.text("proname"), &arguments(row))
}

fn arguments(row: &Record) -> Vec<Id> {
    row.text("proargtypes").split(' ').filter_map(|id| id.parse().ok()).collect()
}

/// All functions.
pub(crate) fn all() -> &'static [Function] {
    &FUNCTIONS.all
}

/// The function with that OID.
pub(crate) fn by_id(oid: Id) -> Option<&'static Function> {
    FUNCTIONS.by_id.get(&oid).map(|&place| &FUNCTIONS.all[place])
}

/// The functions of that name, but for those of extensions, which are not always there.
pub(crate) fn by_name(name: &str) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.by_name.get(name).into_iter().flatten().map(|&place| &FUNCTIONS.all[place])
}

impl Function {
    /// Whether it takes so many arguments, and PostgreSQL has it for one that may say something else of them another time.
    pub(crate) fn is_changing(&self, arguments: usize) -> bool {
        let takes = self.written("pronargs").is_some_and(|count| count.parse() == Ok(arguments));
        takes && self.written("provolatile").is_some_and(|volatility| volatility != "i")
    }

    fn written(&self, column: &str) -> Option<&'static str> {
        self.record.and_then(|row| row.get(column))
    }

    /// The values of an array of PostgreSQL's that has no quotes in it.
    fn array(&self, column: &str) -> Option<Vec<&'static str>> {
        let text = self.written(column)?.strip_prefix('{')?.strip_suffix('}')?;
        Some(text.split(',').map(|element| element.trim_matches('"')).collect())
    }

    /// `name(types)`, by which `regprocedure` shows it.
    pub(crate) fn signature(&self) -> String {
        let types: Vec<String> = self.arguments.iter().map(|id| type_name(*id).unwrap_or_default()).collect();
        format!("{}({})", quote_identifier(self.name), types.join(","))
    }

    /// Name, mode and type of each parameter, those of tables left out or alone.
    fn parameters(&self, of_table: bool) -> Vec<String> {
        let types: Vec<Id> = match self.array("proallargtypes") {
            Some(types) => types.iter().filter_map(|id| id.parse().ok()).collect(),
            None => self.arguments.clone(),
        };
        let (modes, names) = (self.array("proargmodes"), self.array("proargnames"));
        let mut written = Vec::new();
        for (place, id) in types.iter().enumerate() {
            let mode = modes.as_ref().and_then(|modes| modes.get(place)).copied().unwrap_or("i");
            if (mode == "t") != of_table {
                continue;
            }
            let mode = match mode {
                "o" => "OUT ",
                "b" => "INOUT ",
                "v" => "VARIADIC ",
                _ => "",
            };
            let name = names.as_ref().and_then(|names| names.get(place)).filter(|name| !name.is_empty());
            let name = name.map_or_else(String::new, |name| format!("{} ", quote_identifier(name)));
            written.push(format!("{mode}{name}{}", type_name(*id).unwrap_or_default()));
        }
        written
    }

    /// The names of what it is given, and what stands for each that may be left out; nothing if they have no names.
    pub(crate) fn named_parameters(&self) -> Vec<(&'static str, Option<&'static str>)> {
        let Some(names) = self.array("proargnames") else { return Vec::new() };
        let Some(written) = self.written("arguments") else {
            let modes = self.array("proargmodes");
            let is_given = |place: usize| {
                modes.as_ref().is_none_or(|modes| modes.get(place).is_some_and(|mode| matches!(*mode, "i" | "b" | "v")))
            };
            let given = names.into_iter().enumerate().filter(|(place, _)| is_given(*place));
            return given.map(|(_, name)| (name, None)).collect();
        };
        // What PostgreSQL has for them are short literals without a comma.
        let parameters = written.split(", ").zip(names);
        parameters.map(|(text, name)| (name, text.split_once(" DEFAULT ").map(|(_, default)| default))).collect()
    }

    /// `pg_get_function_identity_arguments`
    pub(crate) fn identity_arguments(&self) -> String {
        match self.written("arguments") {
            Some(written) if self.written("prokind") == Some("a") => written.to_owned(),
            _ => self.parameters(false).join(", "),
        }
    }

    /// `pg_get_function_arguments`
    pub(crate) fn full_arguments(&self) -> String {
        self.written("arguments").map_or_else(|| self.identity_arguments(), str::to_owned)
    }

    /// `pg_get_function_result`
    pub(crate) fn written_result(&self) -> String {
        let table = self.parameters(true);
        if !table.is_empty() {
            return format!("TABLE({})", table.join(", "));
        }
        let set = if self.written("proretset") == Some("t") { "SETOF " } else { "" };
        format!("{set}{}", type_name(self.result).unwrap_or_default())
    }

    /// The expression or the query of a function that is SQL's.
    pub(crate) fn body(&self) -> Option<String> {
        self.written("body").map(|body| body.replace("\\n", "\n"))
    }

    /// CREATE FUNCTION; none for an aggregate.
    pub(crate) fn definition(&self) -> Option<String> {
        if self.written("prokind") == Some("a") {
            return None;
        }
        let language = match self.written("prolang") {
            Some("13") => "c",
            Some("14") => "sql",
            _ => "internal",
        };
        let mut text = format!(
            "CREATE OR REPLACE FUNCTION {}.{}({})\n RETURNS {}\n LANGUAGE {language}\n",
            if self.of_extension { "public" } else { "pg_catalog" },
            quote_identifier(self.name),
            self.full_arguments(),
            self.written_result()
        );
        let options = self.options(language);
        if !options.is_empty() {
            writeln!(text, "{options}").expect("writing to a String does not fail");
        }
        match self.body() {
            Some(body) => text.push_str(&body),
            None => {
                let source = self.written("prosrc").unwrap_or(self.name);
                write!(text, "AS $function${source}$function$").expect("writing to a String does not fail");
            }
        }
        text.push('\n');
        Some(text)
    }

    /// What is not as usual, in PostgreSQL's order.
    fn options(&self, language: &str) -> String {
        let mut options = String::new();
        let mut add = |option: &str| {
            options.push(' ');
            options.push_str(option);
        };
        if self.written("prokind") == Some("w") {
            add("WINDOW");
        }
        match self.written("provolatile") {
            Some("i") => add("IMMUTABLE"),
            Some("s") => add("STABLE"),
            _ => {}
        }
        match self.written("proparallel") {
            Some("s") => add("PARALLEL SAFE"),
            Some("r") => add("PARALLEL RESTRICTED"),
            _ => {}
        }
        if self.written("proisstrict") == Some("t") {
            add("STRICT");
        }
        if self.written("proleakproof") == Some("t") {
            add("LEAKPROOF");
        }
        let usual_cost = if language == "sql" { "100" } else { "1" };
        if let Some(cost) = self.written("procost").filter(|cost| *cost != usual_cost) {
            add(&format!("COST {cost}"));
        }
        if let Some(count) = self.written("prorows").filter(|rows| *rows != "0" && *rows != "1000") {
            add(&format!("ROWS {count}"));
        }
        if let Some(support) = self.record.and_then(|row| by_id(row.id("prosupport"))) {
            add(&format!("SUPPORT {}", support.name));
        }
        options
    }
}
