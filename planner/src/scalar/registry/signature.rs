//! Signatures as text: `left(text, int4) text`, `concat(variadic anytext) text`, `json_each(json) (key text, value json)`.
//!
//! A trailing `?` makes a parameter optional. Beside PostgreSQL's polymorphic types there are: `anytext`
//! (anything, given as its text form), `anyjson`/`anyjsonb` (anything, as `to_json` makes it), `pairs`
//! (keys as text and values as JSON in turns) and `anytype` (anything, given as the OID of its type).

use repr::{Id, ScalarType};

/// OID of `record`.
const RECORD: Id = 2249;

/// What a parameter accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    Exact(ScalarType),
    AnyElement,
    AnyArray,
    AnyNonArray,
    AnyEnum,
    AnyRange,
    AnyMultirange,
    AnyCompatible,
    AnyCompatibleArray,
    /// Any type as it is.
    Any,
    /// Any composite.
    Record,
    AnyText,
    /// Anything but an array, as text.
    AnyNonArrayText,
    /// Any array, its elements as text.
    AnyArrayText,
    AnyJson,
    AnyJsonb,
    JsonPairs,
    JsonbPairs,
    AnyType,
    /// Any array, its elements as arguments of one of the above.
    Spread(Box<Pattern>),
}

impl Pattern {
    /// What PostgreSQL declares as of that type; none if it is none of ours.
    pub(super) fn of_type(id: Id) -> Option<Pattern> {
        Some(match id {
            2283 => Pattern::AnyElement,
            2277 => Pattern::AnyArray,
            2776 => Pattern::AnyNonArray,
            3500 => Pattern::AnyEnum,
            3831 => Pattern::AnyRange,
            4537 => Pattern::AnyMultirange,
            5077 => Pattern::AnyCompatible,
            5078 => Pattern::AnyCompatibleArray,
            RECORD => Pattern::Record,
            _ => Pattern::Exact(ScalarType::from_oid(id).filter(|scalar| !scalar.is_pseudo())?),
        })
    }
}

/// A function's parameters and result.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) args: Vec<Pattern>,
    /// How many trailing parameters may be left out.
    pub(super) optional: usize,
    pub(super) variadic: bool,
    results: Vec<(&'static str, Pattern)>,
}

/// What the polymorphic types of a call stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding {
    pub(super) element: Option<ScalarType>,
    /// `anyrange`: several types of ranges may be over one, so the element does not say it.
    pub(super) range: Option<ScalarType>,
    pub(super) compatible: Option<ScalarType>,
}

impl Signature {
    /// Reads a signature; the texts are ours, so a bad one is a bug.
    pub(super) fn parse(text: &'static str) -> Signature {
        let (name, rest) = text.split_once('(').expect("a signature has an opening parenthesis");
        let (args, result) = rest.split_once(')').expect("a signature has a closing parenthesis");
        let mut signature =
            Signature { name: name.trim(), args: Vec::new(), optional: 0, variadic: false, results: Vec::new() };
        for arg in args.split(',').map(str::trim).filter(|arg| !arg.is_empty()) {
            let (arg, optional) = arg.strip_suffix('?').map_or((arg, false), |arg| (arg, true));
            let arg = arg.strip_prefix("variadic ").map_or(arg, |arg| {
                signature.variadic = true;
                arg
            });
            signature.optional += usize::from(optional);
            signature.args.push(parse_pattern(arg));
        }
        let result = result.trim();
        if let Some(columns) = result.strip_prefix('(') {
            for column in columns.trim_end_matches(')').split(',') {
                let (name, pattern) = column.trim().split_once(' ').expect("a result column has a name and a type");
                signature.results.push((name, parse_pattern(pattern)));
            }
        } else {
            signature.results.push((signature.name, parse_pattern(result)));
        }
        signature
    }

    /// Of just these types.
    pub(super) fn exact(name: &'static str, args: Vec<ScalarType>, result: ScalarType) -> Signature {
        let args = args.into_iter().map(Pattern::Exact).collect();
        Signature { name, args, optional: 0, variadic: false, results: vec![(name, Pattern::Exact(result))] }
    }

    /// Of what somebody created.
    pub(super) fn of_routine(args: Vec<ScalarType>, variadic: bool) -> Signature {
        Signature { variadic, ..Signature::exact("", args, ScalarType::Void) }
    }

    /// Of what PostgreSQL declares: what it gives nobody asks.
    pub(super) fn of_patterns(args: Vec<Pattern>) -> Signature {
        Signature { args, ..Signature::exact("", Vec::new(), ScalarType::Void) }
    }

    /// What makes values of a type of ranges, or of multiranges.
    pub(super) fn constructors(scalar: &ScalarType) -> Vec<Signature> {
        let of = |args: &[ScalarType], optional: usize| Signature {
            optional,
            ..Signature::exact("", args.to_vec(), scalar.clone())
        };
        match scalar.multirange_range() {
            Some(range) => {
                let several = Signature { variadic: true, ..of(&[range.array()], 0) };
                vec![of(&[], 0), of(&[range], 0), several]
            }
            None => {
                let element = scalar.range_element().unwrap_or(ScalarType::Unknown);
                vec![of(&[element.clone(), element, ScalarType::Text], 1)]
            }
        }
    }

    /// The same under another name.
    pub(super) fn named(mut self, name: &'static str) -> Signature {
        self.name = name;
        self
    }

    /// The parameters for a call with that many arguments, or `None` if it cannot take so many.
    pub(super) fn expanded(&self, count: usize, as_array: bool) -> Option<Vec<Pattern>> {
        let declared = self.args.len();
        if as_array {
            if !self.variadic || count != declared {
                return None;
            }
            let mut args = self.args.clone();
            if let Some(last) = args.last_mut() {
                *last = spread_pattern(last);
            }
            return Some(args);
        }
        if self.variadic {
            if count < declared {
                return None;
            }
            let mut args = self.args[..declared - 1].to_vec();
            let element = element_pattern(&self.args[declared - 1]);
            args.extend(std::iter::repeat_n(element, count + 1 - declared));
            return Some(args);
        }
        (count <= declared && count + self.optional >= declared).then(|| self.args[..count].to_vec())
    }

    /// Whether it is declared with exactly these types.
    pub(super) fn is_exactly(&self, types: &[ScalarType]) -> bool {
        self.args.len() == types.len()
            && self.args.iter().zip(types).all(|(arg, given)| matches!(arg, Pattern::Exact(exact) if exact == given))
    }

    /// Whether it takes arguments of these types as they are, one by one; those that are left out may be.
    pub(super) fn takes_exactly(&self, types: &[ScalarType]) -> bool {
        let (given, declared) = (types.len(), self.args.len());
        let exact = |(arg, given): (&Pattern, &ScalarType)| matches!(arg, Pattern::Exact(exact) if exact == given);
        !self.variadic
            && given <= declared
            && given + self.optional >= declared
            && self.args.iter().zip(types).all(exact)
    }

    /// The first result's type.
    pub(super) fn result(&self, binding: &Binding) -> Option<ScalarType> {
        self.results[0].1.bound(binding)
    }

    /// All result columns.
    pub(super) fn columns(&self, binding: &Binding) -> Vec<(String, ScalarType)> {
        self.results
            .iter()
            .map(|(name, pattern)| ((*name).to_owned(), pattern.bound(binding).unwrap_or(ScalarType::Text)))
            .collect()
    }

    /// Whether PostgreSQL's function of these arguments is this one; those that are left out may be.
    pub(super) fn is_declared(&self, types: &[Id]) -> bool {
        let (given, declared) = (types.len(), self.args.len());
        given <= declared
            && given + self.optional >= declared
            && self.args.iter().zip(types).all(|(arg, id)| arg.is_declared(*id))
    }

    /// The types of all parameters.
    pub(super) fn declared_arguments(&self) -> Vec<Id> {
        self.args.iter().map(Pattern::declared).collect()
    }

    /// The result's type; `record` for several columns.
    pub(super) fn declared_result(&self) -> Id {
        match self.results.as_slice() {
            [(_, pattern)] => pattern.declared(),
            _ => RECORD,
        }
    }
}

impl Pattern {
    /// The type it stands for under a binding.
    pub(super) fn bound(&self, binding: &Binding) -> Option<ScalarType> {
        let array = |element: &Option<ScalarType>| element.clone().map(|element| ScalarType::Array(Box::new(element)));
        match self {
            Pattern::Exact(exact) => Some(exact.clone()),
            Pattern::AnyElement | Pattern::AnyNonArray | Pattern::AnyEnum => binding.element.clone(),
            Pattern::AnyArray => array(&binding.element),
            Pattern::AnyRange => binding.range.clone(),
            Pattern::AnyMultirange => binding.range.as_ref()?.multirange(),
            Pattern::AnyCompatible => binding.compatible.clone(),
            Pattern::AnyCompatibleArray => array(&binding.compatible),
            Pattern::AnyText | Pattern::AnyNonArrayText => Some(ScalarType::Text),
            Pattern::AnyArrayText => Some(ScalarType::Array(Box::new(ScalarType::Text))),
            Pattern::AnyJson | Pattern::JsonPairs => Some(ScalarType::Json),
            Pattern::AnyJsonb | Pattern::JsonbPairs => Some(ScalarType::Jsonb),
            Pattern::AnyType => Some(ScalarType::Oid),
            Pattern::Spread(element) => element.bound(binding).map(|element| element.array()),
            Pattern::Any | Pattern::Record => None,
        }
    }

    /// The type by which `pg_proc` says it.
    fn declared(&self) -> Id {
        match self {
            Pattern::Exact(exact) => exact.oid(),
            Pattern::AnyElement => 2283,
            Pattern::AnyArray | Pattern::AnyArrayText | Pattern::Spread(_) => 2277,
            Pattern::AnyNonArray | Pattern::AnyNonArrayText => 2776,
            Pattern::AnyEnum => 3500,
            Pattern::AnyRange => 3831,
            Pattern::AnyMultirange => 4537,
            Pattern::AnyCompatible => 5077,
            Pattern::AnyCompatibleArray => 5078,
            Pattern::Record => RECORD,
            Pattern::Any
            | Pattern::AnyText
            | Pattern::AnyJson
            | Pattern::AnyJsonb
            | Pattern::JsonPairs
            | Pattern::JsonbPairs
            | Pattern::AnyType => 2276,
        }
    }

    /// Whether PostgreSQL may say it so: our families of polymorphic types are more than PostgreSQL's.
    fn is_declared(&self, id: Id) -> bool {
        match self {
            Pattern::Exact(exact) => exact.oid() == id,
            _ => ScalarType::from_oid(id).is_none(),
        }
    }
}

/// What one element of a variadic parameter is.
fn element_pattern(pattern: &Pattern) -> Pattern {
    match pattern {
        Pattern::Exact(ScalarType::Array(element)) => Pattern::Exact((**element).clone()),
        Pattern::AnyArray => Pattern::AnyElement,
        Pattern::AnyCompatibleArray => Pattern::AnyCompatible,
        other => other.clone(),
    }
}

/// What a variadic parameter is when it is given as an array.
fn spread_pattern(pattern: &Pattern) -> Pattern {
    match pattern {
        Pattern::AnyText => Pattern::AnyArrayText,
        Pattern::JsonPairs | Pattern::JsonbPairs | Pattern::AnyJson | Pattern::AnyJsonb => {
            Pattern::Spread(Box::new(pattern.clone()))
        }
        Pattern::Any => Pattern::AnyArray,
        other => other.clone(),
    }
}

fn parse_pattern(text: &str) -> Pattern {
    match text.trim() {
        "anyelement" => Pattern::AnyElement,
        "anyarray" => Pattern::AnyArray,
        "anynonarray" => Pattern::AnyNonArray,
        "anyenum" => Pattern::AnyEnum,
        "anyrange" => Pattern::AnyRange,
        "anymultirange" => Pattern::AnyMultirange,
        "anycompatible" => Pattern::AnyCompatible,
        "anycompatiblearray" => Pattern::AnyCompatibleArray,
        "any" => Pattern::Any,
        "record" => Pattern::Record,
        "anytext" => Pattern::AnyText,
        "anynonarraytext" => Pattern::AnyNonArrayText,
        "anyarraytext" => Pattern::AnyArrayText,
        "anyjson" => Pattern::AnyJson,
        "anyjsonb" => Pattern::AnyJsonb,
        "jsonpairs" => Pattern::JsonPairs,
        "jsonbpairs" => Pattern::JsonbPairs,
        "anytype" => Pattern::AnyType,
        exact => Pattern::Exact(parse_type(exact)),
    }
}

fn parse_type(text: &str) -> ScalarType {
    if let Some(element) = text.strip_suffix("[]") {
        return ScalarType::Array(Box::new(parse_type(element)));
    }
    match text {
        "emptyrecord" => ScalarType::Record(Vec::new().into()),
        name => ScalarType::from_type_name(name)
            .or_else(|| ScalarType::of_extension(name).map(|(scalar, _)| scalar))
            .unwrap_or_else(|| unreachable!("a signature names the type {name}")),
    }
}
