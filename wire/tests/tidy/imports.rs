//! Circles of files that import each other, within each crate: read from `use` and from written-out paths, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file by its place in the crate: `["session", "copy"]`; the crate's root has none.
pub type Module = Vec<String>;

/// Which files of a crate import which.
pub struct Imports {
    arrows: BTreeMap<Module, BTreeSet<Module>>,
}

impl Imports {
    /// Of these files, by their places below `src` and texts.
    pub fn read(files: &BTreeMap<Module, String>) -> Imports {
        let arrows = files.iter().map(|(module, text)| (module.clone(), imported(module, text, files))).collect();
        Imports { arrows }
    }

    /// The largest sets of files in which each is imported by each, over others of them: those of more than one file.
    pub fn circles(&self) -> Vec<Vec<&Module>> {
        let mut search = Search { imports: self, seen: BTreeMap::new(), open: Vec::new(), found: Vec::new() };
        for module in self.arrows.keys() {
            if !search.seen.contains_key(module) {
                search.visit(module);
            }
        }
        search.found.retain(|circle| circle.len() > 1);
        search.found
    }
}

/// Tarjan's search for strongly connected components.
struct Search<'i> {
    imports: &'i Imports,
    /// In which order a file was met, and the earliest that it leads back to.
    seen: BTreeMap<&'i Module, (usize, usize)>,
    open: Vec<&'i Module>,
    found: Vec<Vec<&'i Module>>,
}

impl<'i> Search<'i> {
    fn visit(&mut self, module: &'i Module) -> usize {
        let place = self.seen.len();
        let mut earliest = place;
        self.seen.insert(module, (place, place));
        self.open.push(module);
        for next in &self.imports.arrows[module] {
            let Some((next, _)) = self.imports.arrows.get_key_value(next) else { continue };
            earliest = match self.seen.get(next) {
                None => earliest.min(self.visit(next)),
                Some((_, back)) if self.open.contains(&next) => earliest.min(*back),
                Some(_) => earliest,
            };
        }
        self.seen.insert(module, (place, earliest));
        if earliest == place {
            let first = self.open.iter().position(|open| *open == module).expect("opened above");
            self.found.push(self.open.split_off(first));
        }
        earliest
    }
}

/// The files whose items a file names; tests do not count.
fn imported(module: &Module, text: &str, files: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|root| rest.find(root)).min() {
        let inside_a_name =
            rest[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$');
        rest = &rest[at..];
        if inside_a_name {
            rest = &rest[1..];
            continue;
        }
        rest = path(rest, &[], &mut paths);
    }
    let found = paths.iter().filter_map(|path| target(module, path, files));
    found.filter(|found| found != module).collect()
}

/// Reads one path, with all that it branches into; what stands behind it.
fn path<'t>(text: &'t str, before: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let mut segments = before.to_vec();
    let mut rest = text;
    loop {
        let end = rest.find(|other: char| !other.is_alphanumeric() && other != '_').unwrap_or(rest.len());
        if end > 0 {
            segments.push(rest[..end].to_string());
        }
        rest = &rest[end..];
        let Some(next) = rest.strip_prefix("::") else { break };
        let Some(mut branches) = next.strip_prefix('{') else {
            rest = next;
            continue;
        };
        loop {
            branches = path(branches.trim_start(), &segments, found).trim_start();
            // An alias is no part of the path.
            if let Some(alias) = branches.strip_prefix("as ") {
                branches = alias.trim_start_matches(|name: char| name.is_alphanumeric() || name == '_').trim_start();
            }
            match branches.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => branches = more,
                Some(more) => branches = more.trim_start(),
                None => {}
            }
            if let Some(end) = branches.strip_prefix('}') {
                return end;
            }
            if branches.is_empty() || branches.starts_with(|other: char| !other.is_alphanumeric() && other != '_') {
                return branches;
            }
        }
    }
    found.push(segments);
    rest
}

/// The file that a path leads into.
fn target(module: &Module, path: &[String], files: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut place, mut rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        _ => (module.clone(), path),
    };
    while let Some((first, others)) = rest.split_first()
        && first == "super"
    {
        place.pop();
        rest = others;
    }
    for segment in rest {
        place.push(segment.clone());
        if !files.contains_key(&place) {
            place.pop();
            break;
        }
    }
    Some(place)
}

/// The place of a file below `src`.
pub fn module(path: &Path) -> Module {
    let path = path.with_extension("");
    let parts: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts == ["lib"] || parts == ["main"] { Module::new() } else { parts }
}

#[test]
fn circles_are_found_in_texts() {
    let file = |name: &str, text: &str| (module(Path::new(name)), text.to_string());
    let files = BTreeMap::from([
        file("lib.rs", "pub mod a;\npub mod b;\n"),
        file("a.rs", "use crate::b::{c::Deep, Flat as Other};\n"),
        file("b.rs", "// use crate::a::Nothing;\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::a::Here;\n}\n"),
        file("b/c.rs", "fn f() -> crate::d::Thing {}\n"),
        file("d.rs", "use super::a::*;\n"),
    ]);
    let imports = Imports::read(&files);
    let named: Vec<Vec<String>> =
        imports.circles().iter().map(|circle| circle.iter().map(|module| module.join("/")).collect()).collect();
    assert_eq!(named, [["a", "b/c", "d"]]);
}
