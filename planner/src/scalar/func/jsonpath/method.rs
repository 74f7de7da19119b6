//! Methods of items.

use super::execution::{Execution, Found, Outcome, Scope, Status};
use super::value::View;
use repr::jsonpath::{Method, Step};
use repr::text::{self, TextContext};
use repr::to_char::{Misfit, Moment};
use repr::{Datum, Jsonb, Numeric, ScalarType, ValueError};
use std::sync::Arc;

/// What `.datetime()` tries without a template, one after the other.
const TEMPLATES: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

impl Execution<'_> {
    /// Applies a method to an item.
    pub(super) fn method(
        &mut self,
        step: &Step,
        rest: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome {
        let Step::Method(method) = step else {
            let Step::Datetime(template) = step else { return Ok(Status::NotFound) };
            return self.datetime(template.as_deref(), rest, at, scope, found);
        };
        let made = match method {
            Method::Type => Jsonb::string(at.type_name()),
            Method::Size => match at.elements() {
                Some(elements) => Jsonb::Number(Numeric::from(elements.len() as i64)),
                None if self.is_lax => Jsonb::Number(Numeric::from(1)),
                None if scope.forgives => return Ok(Status::NotFound),
                None => {
                    let message = "jsonpath item method .size() can only be applied to an array";
                    return self.fail(scope, || ValueError::new("22039", message));
                }
            },
            Method::Abs | Method::Floor | Method::Ceiling => {
                let View::Json(Jsonb::Number(number)) = at else {
                    let name = method.name();
                    let message = format!("jsonpath item method .{name}() can only be applied to a numeric value");
                    return self.fail(scope, || ValueError::new("22036", message));
                };
                Jsonb::Number(match method {
                    Method::Abs => number.abs(),
                    Method::Floor => number.floor(),
                    _ => number.ceil(),
                })
            }
            Method::Double => return self.double(rest, at, scope, found),
            Method::KeyValue => return self.key_value(rest, at, scope, found),
        };
        self.go_on(rest, View::Json(&made), scope, found)
    }

    fn double(&mut self, rest: &[Step], at: View<'_>, scope: Scope<'_>, found: Found<'_>) -> Outcome {
        let refused = |message: &'static str| move || ValueError::new("22036", message);
        match at {
            View::Json(Jsonb::Number(number)) => match double(&number.to_string()) {
                // It stays as it is: only what is no double is refused.
                Some(_) => self.go_on(rest, at, scope, found),
                None => self.fail(
                    scope,
                    refused(
                        "numeric argument of jsonpath item method .double() is out of range for type double precision",
                    ),
                ),
            },
            View::Json(Jsonb::String(text)) => match double(text) {
                Some(value) => {
                    let number = Jsonb::Number(Numeric::from_f64(value)?);
                    self.go_on(rest, View::Json(&number), scope, found)
                }
                None => self.fail(
                    scope,
                    refused(
                        "string argument of jsonpath item method .double() is not a valid representation of a double precision number",
                    ),
                ),
            },
            View::Json(_) | View::Moment(_) => self.fail(
                scope,
                refused("jsonpath item method .double() can only be applied to a string or numeric value"),
            ),
        }
    }

    fn datetime(
        &mut self,
        template: Option<&str>,
        rest: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome {
        let View::Json(Jsonb::String(text)) = at else {
            let message = "jsonpath item method .datetime() can only be applied to a string";
            return self.fail(scope, || ValueError::new("22031", message));
        };
        let moment = match template {
            Some(template) => match Moment::parse(text, template) {
                Ok(moment) => moment,
                Err(Misfit::Template(error)) => return Err(error),
                Err(Misfit::Text(error)) => return self.fail(scope, || error),
            },
            None => match TEMPLATES.iter().find_map(|template| Moment::parse(text, template).ok()) {
                Some(moment) => moment,
                None => {
                    return self.fail(scope, || ValueError {
                        hint: Some("Use a datetime template argument to specify the input data format.".to_owned()),
                        ..ValueError::new("22031", format!("datetime format is not recognized: \"{text}\""))
                    });
                }
            },
        };
        self.go_on(rest, View::Moment(&moment), scope, found)
    }

    /// An object for each pair of an object: its key, its value, and the number of the object they stand in.
    fn key_value(&mut self, rest: &[Step], at: View<'_>, scope: Scope<'_>, mut found: Found<'_>) -> Outcome {
        let View::Json(object @ Jsonb::Object(pairs)) = at else {
            let message = "jsonpath item method .keyvalue() can only be applied to an object";
            return self.fail(scope, || ValueError::new("2203C", message));
        };
        if pairs.is_empty() {
            return Ok(Status::NotFound);
        }
        let id = Jsonb::Number(Numeric::from(self.numbers.of(object, scope.base)));
        let mut status = Status::NotFound;
        for (key, value) in pairs.iter() {
            if rest.is_empty() && found.is_none() {
                return Ok(Status::Found);
            }
            let pair: Vec<(Arc<str>, Jsonb)> = vec![
                ("key".into(), Jsonb::String(key.clone())),
                ("value".into(), value.clone()),
                ("id".into(), id.clone()),
            ];
            let pair = Jsonb::object(pair).check_depth()?;
            let number = self.numbers.next;
            self.numbers.next += 1;
            status = self.go_on(
                rest,
                View::Json(&pair),
                Scope { base: Some((&pair, number)), ..scope },
                found.as_deref_mut(),
            )?;
            if status == Status::Failed || (status == Status::Found && found.is_none()) {
                return Ok(status);
            }
        }
        Ok(status)
    }
}

/// A text as a finite double precision.
fn double(text: &str) -> Option<f64> {
    match text::parse(&ScalarType::Float8, -1, text, &TextContext::default()) {
        Ok(Datum::Float8(value)) if value.is_finite() => Some(value),
        _ => None,
    }
}
