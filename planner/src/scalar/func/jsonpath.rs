//! Paths through JSON documents: what they give, and whether they give anything.
//!
//! ```text
//! jsonb_path_query(document, path, vars, silent)
//!                      │       │
//!                      ▼       ▼
//!                  execution ──── next step, for each item that the one before it gives
//!                      │
//!                      ▼
//!                  items: documents, and moments that are documents once they are given out
//! ```
//! What a path is stands in `repr::jsonpath`. Errors that `silent` forgives are `Status::Failed` until somebody asks for them.

mod compare;
mod execution;
mod method;
mod predicate;
mod value;

use super::arguments::{boolean, jsonb, truth};
use super::pattern::regular;
use super::{FunctionDefinition, strict};
use crate::scalar::{Answer, EvalContext};
use execution::{Execution, Status};
use repr::jsonpath::Pattern;
use repr::{Datum, JsonPath, Jsonb, ValueError, poll};
use std::sync::{Arc, LazyLock};

fn path(arg: &Datum) -> Result<&JsonPath, ValueError> {
    match arg {
        Datum::JsonPath(path) => Ok(path),
        _ => Err(ValueError::new("XX000", "a jsonpath is expected")),
    }
}

/// Its regular expression, compiled.
fn compiled(pattern: &Pattern) -> Result<std::rc::Rc<regular::Regular>, ValueError> {
    regular::compile(&pattern.expression, regular::Options::of_path(pattern))
}

/// Refuses a path whose regular expressions are none.
pub(crate) fn check(path: &JsonPath) -> Result<(), ValueError> {
    path.patterns().into_iter().try_for_each(|pattern| compiled(pattern).map(drop))
}

/// A call: its document, its path, and how errors and zones are met.
struct Call<'a> {
    document: &'a Jsonb,
    path: &'a JsonPath,
    /// None for the operators, to which each variable is null.
    variables: Option<&'a Jsonb>,
    is_silent: bool,
    is_zoned: bool,
}

static NO_VARIABLES: LazyLock<Jsonb> = LazyLock::new(|| Jsonb::Object(Arc::from([])));

impl<'a> Call<'a> {
    fn of_function(args: &'a [Datum], is_zoned: bool) -> Result<Call<'a>, ValueError> {
        Ok(Call {
            document: jsonb(&args[0])?,
            path: path(&args[1])?,
            variables: Some(args.get(2).map_or(Ok(&*NO_VARIABLES), jsonb)?),
            is_silent: args.get(3).map_or(Ok(false), boolean)?,
            is_zoned,
        })
    }

    fn of_operator(args: &'a [Datum]) -> Result<Call<'a>, ValueError> {
        let (document, path) = (jsonb(&args[0])?, path(&args[1])?);
        Ok(Call { document, path, variables: None, is_silent: true, is_zoned: false })
    }

    fn execution<'c>(&'c self, ctx: &'c EvalContext) -> Result<Execution<'c>, ValueError> {
        if self.variables.is_some_and(|variables| !matches!(variables, Jsonb::Object(_))) {
            let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(ValueError {
                detail: Some(detail.to_owned()),
                ..ValueError::new("22023", "\"vars\" argument is not an object")
            });
        }
        Ok(Execution::new(self, ctx))
    }

    /// Whether there is an item; none if that cannot be said.
    fn exists(&self, ctx: &EvalContext) -> Answer {
        match poll::unwinds_to(|| self.execution(ctx)?.exists())? {
            Status::Found => truth(true),
            Status::NotFound => truth(false),
            Status::Failed => Ok(Datum::Null),
        }
    }

    /// All items; of a silent call, those that were found before an error.
    fn items(&self, ctx: &EvalContext) -> Result<Vec<Jsonb>, ValueError> {
        poll::unwinds_to(|| {
            let items = self.execution(ctx)?.items()?;
            items.into_iter().map(|item| item.into_document().check_depth()).collect()
        })
    }

    /// The one truth that a predicate gives.
    fn matches(&self, ctx: &EvalContext) -> Answer {
        match (self.items(ctx)?.as_slice(), self.is_silent) {
            ([Jsonb::Bool(value)], _) => truth(*value),
            ([Jsonb::Null], _) | (_, true) => Ok(Datum::Null),
            (_, false) => Err(ValueError::new("22038", "single boolean result is expected")),
        }
    }

    fn array(&self, ctx: &EvalContext) -> Answer {
        Ok(Datum::Jsonb(Jsonb::array(self.items(ctx)?).check_depth()?))
    }

    fn first(&self, ctx: &EvalContext) -> Answer {
        Ok(self.items(ctx)?.into_iter().next().map_or(Datum::Null, Datum::Jsonb))
    }
}

/// `jsonb_path_query`: the items of a path.
pub(crate) fn query(ctx: &EvalContext, args: &[Datum], is_zoned: bool) -> Result<Vec<Jsonb>, ValueError> {
    Call::of_function(args, is_zoned)?.items(ctx)
}

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("jsonb_path_exists(jsonb, jsonpath, jsonb?, bool?) bool", |ctx, a, _| {
        Call::of_function(a, false)?.exists(ctx)
    }),
    strict("jsonb_path_exists_tz(jsonb, jsonpath, jsonb?, bool?) bool", |ctx, a, _| {
        Call::of_function(a, true)?.exists(ctx)
    })
    .stable(),
    strict("jsonb_path_exists_opr(jsonb, jsonpath) bool", |ctx, a, _| Call::of_operator(a)?.exists(ctx)),
    strict("jsonb_path_match(jsonb, jsonpath, jsonb?, bool?) bool", |ctx, a, _| {
        Call::of_function(a, false)?.matches(ctx)
    }),
    strict("jsonb_path_match_tz(jsonb, jsonpath, jsonb?, bool?) bool", |ctx, a, _| {
        Call::of_function(a, true)?.matches(ctx)
    })
    .stable(),
    strict("jsonb_path_match_opr(jsonb, jsonpath) bool", |ctx, a, _| Call::of_operator(a)?.matches(ctx)),
    strict("jsonb_path_query_array(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, a, _| {
        Call::of_function(a, false)?.array(ctx)
    }),
    strict("jsonb_path_query_array_tz(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, a, _| {
        Call::of_function(a, true)?.array(ctx)
    })
    .stable(),
    strict("jsonb_path_query_first(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, a, _| {
        Call::of_function(a, false)?.first(ctx)
    }),
    strict("jsonb_path_query_first_tz(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, a, _| {
        Call::of_function(a, true)?.first(ctx)
    })
    .stable(),
];

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("@?(jsonb, jsonpath) bool", |ctx, a, _| Call::of_operator(a)?.exists(ctx)),
    strict("@@(jsonb, jsonpath) bool", |ctx, a, _| Call::of_operator(a)?.matches(ctx)),
];

#[cfg(test)]
mod tests {
    use super::Call;
    use crate::scalar::EvalContext;
    use repr::{JsonPath, Jsonb};

    fn count(document: &Jsonb, path: &str) -> Result<usize, &'static str> {
        let path = JsonPath::parse(path).map_err(|error| error.code)?;
        let call = Call { document, path: &path, variables: None, is_silent: false, is_zoned: false };
        call.items(&EvalContext::immutable()).map(|items| items.len()).map_err(|error| error.code)
    }

    #[test]
    fn what_leads_too_deep_is_refused() {
        // What is not optimized takes more.
        let stack = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };
        let deep = std::thread::Builder::new().stack_size(stack).spawn(|| {
            let nested: Jsonb = format!("{}1{}", "[".repeat(1000), "]".repeat(1000)).parse().expect("it is JSON");
            let one: Jsonb = "1".parse().expect("it is JSON");
            assert_eq!(count(&nested, "$.**"), Ok(1001));
            assert_eq!(count(&nested, "$.**{last}.**"), Ok(1));
            assert_eq!(count(&nested, "$.**.**.**.**"), Err("54000"));
            assert_eq!(count(&one, &format!("${}", ".type()".repeat(1000))), Ok(1));
            assert_eq!(count(&one, &format!("${}", ".type()".repeat(100_000))), Err("54001"));
            assert_eq!(count(&one, &format!("${}", " ? (1 == 1".repeat(200) + &")".repeat(200))), Ok(1));
        });
        deep.expect("there are threads").join().expect("no stack is too small");
    }
}
