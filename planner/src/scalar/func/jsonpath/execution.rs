//! Following a path, step by step, as PostgreSQL does.
//!
//! Each step is tried at one item; the items that it gives go to the next step one by one, and behind the last one into the
//! list of those that were found. Who asks only whether there is one gives no list, and the first one ends it.

use super::Call;
use super::value::{Item, View, child, size};
use crate::scalar::EvalContext;
use repr::jsonpath::{Levels, Step, Subscript};
use repr::{Jsonb, Numeric, ValueError, poll};
use std::collections::BTreeMap;

/// How deep steps may be nested in steps: about two kilobytes each.
const DEPTH_MAX: usize = 2500;

/// What following a path has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Found,
    NotFound,
    /// An error that is forgiven, or that makes a predicate unknown.
    Failed,
}

/// What is thrown is no `Status`: nothing forgives it.
pub(super) type Outcome = Result<Status, ValueError>;

/// Where items go that are found, if anybody wants them.
pub(super) type Found<'f> = Option<&'f mut Vec<Item>>;

/// What holds where a step is tried.
#[derive(Clone, Copy)]
pub(super) struct Scope<'v> {
    /// `@`
    pub(super) current: View<'v>,
    /// The document that objects get their numbers from, and its own number.
    pub(super) base: Option<(&'v Jsonb, i64)>,
    /// How long the array is that the innermost subscript is for.
    pub(super) length: i64,
    /// Whether what is missing, or of another structure, is no error.
    pub(super) forgives: bool,
    /// Whether errors are thrown.
    pub(super) throws: bool,
}

/// One call on its way.
pub(super) struct Execution<'p> {
    pub(super) call: &'p Call<'p>,
    pub(super) ctx: &'p EvalContext,
    pub(super) is_lax: bool,
    depth: usize,
    pub(super) numbers: Numbers,
}

/// The numbers that objects get from `.keyvalue()`.
pub(super) struct Numbers {
    /// What the next object gets that a path makes.
    pub(super) next: i64,
    first: i64,
    /// Where the containers of a document lie, by their address, for each document that is at hand.
    places: BTreeMap<i64, BTreeMap<usize, usize>>,
}

impl Numbers {
    fn new(first: i64) -> Numbers {
        Numbers { next: first, first, places: BTreeMap::new() }
    }

    /// An object's: its document's number, and where it lies in that.
    pub(super) fn of(&mut self, object: &Jsonb, base: Option<(&Jsonb, i64)>) -> i64 {
        let Some((document, number)) = base else { return 0 };
        if !self.places.contains_key(&number) {
            // Of those that a path makes, one after the other is at hand.
            self.places.retain(|known, _| *known < self.first);
            let mut places = BTreeMap::new();
            document.containers(&mut |container, place| {
                places.insert(std::ptr::from_ref(container).addr(), place);
            });
            self.places.insert(number, places);
        }
        let place = self.places[&number].get(&std::ptr::from_ref(object).addr()).copied().unwrap_or_default();
        place as i64 + number * 10_000_000_000
    }
}

impl<'p> Execution<'p> {
    pub(super) fn new(call: &'p Call<'p>, ctx: &'p EvalContext) -> Execution<'p> {
        let numbers = Numbers::new(if call.variables.is_some() { 2 } else { 1 });
        Execution { call, ctx, is_lax: call.path.path().is_lax, depth: 0, numbers }
    }

    fn steps(&self) -> &'p [Step] {
        &self.call.path.path().chain
    }

    fn start(&self) -> (View<'p>, Scope<'p>) {
        let root = View::Json(self.call.document);
        let throws = !self.call.is_silent;
        (root, Scope { current: root, base: None, length: -1, forgives: self.is_lax, throws })
    }

    /// Whether there is an item. Strictly, all have to be looked at.
    pub(super) fn exists(mut self) -> Outcome {
        let (root, scope) = self.start();
        if self.is_lax {
            return self.follow(self.steps(), root, scope, None);
        }
        let mut items = Vec::new();
        match self.follow(self.steps(), root, scope, Some(&mut items))? {
            Status::Failed => Ok(Status::Failed),
            Status::Found | Status::NotFound if items.is_empty() => Ok(Status::NotFound),
            Status::Found | Status::NotFound => Ok(Status::Found),
        }
    }

    /// All items that are found until an error ends it.
    pub(super) fn items(mut self) -> Result<Vec<Item>, ValueError> {
        let (root, scope) = self.start();
        let mut items = Vec::new();
        self.follow(self.steps(), root, scope, Some(&mut items))?;
        Ok(items)
    }

    /// Follows steps from an item, whose elements are tried in its place where that is lax.
    pub(super) fn follow(&mut self, steps: &[Step], at: View<'_>, scope: Scope<'_>, found: Found<'_>) -> Outcome {
        self.step(steps, at, scope, found, self.is_lax)
    }

    /// Goes on behind a step.
    pub(super) fn go_on(&mut self, rest: &[Step], at: View<'_>, scope: Scope<'_>, found: Found<'_>) -> Outcome {
        if !rest.is_empty() {
            return self.follow(rest, at, scope, found);
        }
        if let Some(found) = found {
            push(found, at.to_item())?;
        }
        Ok(Status::Found)
    }

    /// An error that may be forgiven.
    pub(super) fn fail(&self, scope: Scope<'_>, error: impl FnOnce() -> ValueError) -> Outcome {
        if scope.throws { Err(error()) } else { Ok(Status::Failed) }
    }

    /// The same where a lax path finds nothing instead.
    fn structural(&self, scope: Scope<'_>, code: &'static str, message: impl FnOnce() -> String) -> Outcome {
        if scope.forgives { Ok(Status::NotFound) } else { self.fail(scope, || ValueError::new(code, message())) }
    }

    /// Tries the first of some steps; `unwraps` says whether at an array's elements instead.
    fn step(&mut self, steps: &[Step], at: View<'_>, scope: Scope<'_>, found: Found<'_>, unwraps: bool) -> Outcome {
        poll::step()?;
        if self.depth >= DEPTH_MAX {
            return Err(ValueError {
                hint: Some(format!("A path may lead through {DEPTH_MAX} levels of steps and documents.")),
                ..ValueError::new("54001", "stack depth limit exceeded")
            });
        }
        self.depth += 1;
        let outcome = self.try_step(steps, at, scope, found, unwraps);
        self.depth -= 1;
        outcome
    }

    fn try_step(&mut self, steps: &[Step], at: View<'_>, scope: Scope<'_>, found: Found<'_>, unwraps: bool) -> Outcome {
        let Some((step, rest)) = steps.split_first() else { return Ok(Status::NotFound) };
        match step {
            Step::Root => {
                let scope =
                    Scope { base: is_container(self.call.document).then_some((self.call.document, 0)), ..scope };
                self.go_on(rest, View::Json(self.call.document), scope, found)
            }
            Step::Current => self.go_on(rest, scope.current, scope, found),
            Step::Literal(value) => self.go_on(rest, View::Json(value), scope, found),
            Step::Last => {
                let last = Jsonb::Number(Numeric::from(scope.length - 1));
                self.go_on(rest, View::Json(&last), scope, found)
            }
            Step::Variable(name) => self.variable(name, rest, scope, found),
            Step::Key(key) => self.key(key, (steps, rest), at, scope, found, unwraps),
            Step::AnyKey => match at {
                View::Json(object @ Jsonb::Object(_)) => self.unwrap(rest, object, scope, found, self.is_lax),
                View::Json(array @ Jsonb::Array(_)) if unwraps => self.unwrap(steps, array, scope, found, false),
                View::Json(_) | View::Moment(_) => self.structural(scope, "2203C", || {
                    "jsonpath wildcard member accessor can only be applied to an object".to_owned()
                }),
            },
            Step::AnyArray => match at {
                View::Json(array @ Jsonb::Array(_)) => self.unwrap(rest, array, scope, found, self.is_lax),
                View::Json(_) | View::Moment(_) if self.is_lax => self.go_on(rest, at, scope, found),
                View::Json(_) | View::Moment(_) => self.structural(scope, "22039", || {
                    "jsonpath wildcard array accessor can only be applied to an array".to_owned()
                }),
            },
            Step::Subscripts(subscripts) => self.subscripts(subscripts, rest, at, scope, found),
            Step::Any(levels) => self.any(*levels, rest, at, scope, found),
            Step::Filter(predicate) => match at {
                View::Json(array @ Jsonb::Array(_)) if unwraps => self.unwrap(steps, array, scope, found, false),
                View::Json(_) | View::Moment(_) => {
                    if self.truth(&predicate[0], at, Scope { current: at, ..scope })? != Some(true) {
                        return Ok(Status::NotFound);
                    }
                    self.go_on(rest, at, scope, found)
                }
            },
            Step::Binary(operator, left, right) if operator.is_arithmetic() => {
                self.arithmetic(*operator, (left, right), rest, at, scope, found)
            }
            Step::Sign(is_negated, operand) => self.sign(*is_negated, operand, rest, at, scope, found),
            Step::Junction(..)
            | Step::Binary(..)
            | Step::Not(_)
            | Step::IsUnknown(_)
            | Step::Exists(_)
            | Step::LikeRegex(..) => {
                let truth = self.truth(step, at, scope)?;
                self.go_on(rest, View::Json(&truth.map_or(Jsonb::Null, Jsonb::Bool)), scope, found)
            }
            Step::Method(_) | Step::Datetime(_) => match at {
                View::Json(array @ Jsonb::Array(_)) if unwraps && unwraps_for(step) => {
                    self.unwrap(steps, array, scope, found, false)
                }
                View::Json(_) | View::Moment(_) => self.method(step, rest, at, scope, found),
            },
        }
    }

    /// `.key`
    fn key(
        &mut self,
        key: &str,
        (steps, rest): (&[Step], &[Step]),
        at: View<'_>,
        scope: Scope<'_>,
        found: Found<'_>,
        unwraps: bool,
    ) -> Outcome {
        match at {
            View::Json(object @ Jsonb::Object(_)) => match object.get(key) {
                Some(value) => self.go_on(rest, View::Json(value), scope, found),
                None => self.structural(scope, "2203A", || format!("JSON object does not contain key \"{key}\"")),
            },
            View::Json(array @ Jsonb::Array(_)) if unwraps => self.unwrap(steps, array, scope, found, false),
            View::Json(_) | View::Moment(_) => self
                .structural(scope, "2203A", || "jsonpath member accessor can only be applied to an object".to_owned()),
        }
    }

    /// Tries steps at each element of an array, or each value of an object.
    fn unwrap(
        &mut self,
        steps: &[Step],
        container: &Jsonb,
        scope: Scope<'_>,
        found: Found<'_>,
        unwraps_next: bool,
    ) -> Outcome {
        let levels = Levels { first: 1, last: 1 };
        self.below(steps, (container, 1), levels, scope, found, unwraps_next)
    }

    fn variable(&mut self, name: &str, rest: &[Step], scope: Scope<'_>, found: Found<'_>) -> Outcome {
        let Some(variables) = self.call.variables else {
            return self.go_on(rest, View::Json(&Jsonb::Null), scope, found);
        };
        let Some(value) = variables.get(name) else {
            return Err(ValueError::new("42704", format!("could not find jsonpath variable \"{name}\"")));
        };
        self.go_on(rest, View::Json(value), Scope { base: Some((variables, 1)), ..scope }, found)
    }

    fn subscripts(
        &mut self,
        subscripts: &[Subscript],
        rest: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome {
        let elements = at.elements();
        if elements.is_none() && !self.is_lax {
            let message = || "jsonpath array accessor can only be applied to an array".to_owned();
            return self.structural(scope, "22039", message);
        }
        let length = elements.map_or(1, |elements| elements.len() as i64);
        let mut status = Status::NotFound;
        for subscript in subscripts {
            let inner = Scope { length, ..scope };
            let Some(from) = self.index(&subscript.from, at, inner)? else { return Ok(Status::Failed) };
            let to = match &subscript.to {
                Some(to) => self.index(to, at, inner)?,
                None => Some(from),
            };
            let Some(to) = to else { return Ok(Status::Failed) };
            if !scope.forgives && (from < 0 || from > to || to >= length) {
                let error = || ValueError::new("22033", "jsonpath array subscript is out of bounds");
                return self.fail(scope, error);
            }
            status = Status::NotFound;
            for index in from.max(0)..=to.min(length - 1) {
                let item = match elements {
                    Some(elements) => View::Json(&elements[index as usize]),
                    None => at,
                };
                status = self.go_on(rest, item, inner, found.as_deref_mut())?;
                if status == Status::Failed || (status == Status::Found && found.is_none()) {
                    return Ok(status);
                }
            }
        }
        Ok(status)
    }

    /// A subscript's number; none if that is forgiven.
    fn index(&mut self, steps: &[Step], at: View<'_>, scope: Scope<'_>) -> Result<Option<i64>, ValueError> {
        let mut items = Vec::new();
        let failed = |outcome: Outcome| outcome.map(|_| None);
        if self.follow(steps, at, scope, Some(&mut items))? == Status::Failed {
            return Ok(None);
        }
        let [item] = items.as_slice() else { return failed(self.fail(scope, no_subscript)) };
        let Some(number) = item.number() else { return failed(self.fail(scope, no_subscript)) };
        match number.trunc(0)?.to_i32() {
            Ok(index) => Ok(Some(i64::from(index))),
            Err(_) => failed(
                self.fail(scope, || ValueError::new("22033", "jsonpath array subscript is out of integer range")),
            ),
        }
    }

    /// `.**`
    fn any(&mut self, levels: Levels, rest: &[Step], at: View<'_>, scope: Scope<'_>, mut found: Found<'_>) -> Outcome {
        let mut status = Status::NotFound;
        let scope = Scope { forgives: true, ..scope };
        if levels.first == 0 {
            status = self.go_on(rest, at, scope, found.as_deref_mut())?;
            if status == Status::Found && found.is_none() {
                return Ok(status);
            }
        }
        match at {
            View::Json(container) if is_container(container) => {
                self.below(rest, (container, 1), levels, scope, found, self.is_lax)
            }
            View::Json(_) | View::Moment(_) => Ok(status),
        }
    }

    /// Tries steps at what stands in a container of that level and in containers below, as far as levels are asked for.
    fn below(
        &mut self,
        steps: &[Step],
        (container, level): (&Jsonb, u32),
        levels: Levels,
        scope: Scope<'_>,
        mut found: Found<'_>,
        unwraps_next: bool,
    ) -> Outcome {
        let mut status = Status::NotFound;
        if level > levels.last {
            return Ok(status);
        }
        let leaves_only = levels.first == Levels::LEAVES && levels.last == Levels::LEAVES;
        for index in 0..size(container) {
            let Some(value) = child(container, index) else { break };
            if level >= levels.first || (leaves_only && !is_container(value)) {
                status = if !steps.is_empty() {
                    self.step(steps, View::Json(value), scope, found.as_deref_mut(), unwraps_next)?
                } else if let Some(found) = found.as_deref_mut() {
                    poll::step()?;
                    push(found, Item::Json(value.clone()))?;
                    // As PostgreSQL has it: the status is that of the last step that was tried.
                    status
                } else {
                    return Ok(Status::Found);
                };
                if status == Status::Failed || (status == Status::Found && found.is_none()) {
                    return Ok(status);
                }
            }
            if level < levels.last && is_container(value) {
                let inner = (value, level + 1);
                status = self.below(steps, inner, levels, scope, found.as_deref_mut(), unwraps_next)?;
                if status == Status::Failed || (status == Status::Found && found.is_none()) {
                    return Ok(status);
                }
            }
        }
        Ok(status)
    }
}

/// `.type()` and `.size()` are of the array itself.
fn unwraps_for(step: &Step) -> bool {
    use repr::jsonpath::Method;
    !matches!(step, Step::Method(Method::Type | Method::Size))
}

fn no_subscript() -> ValueError {
    ValueError::new("22033", "jsonpath array subscript is not a single numeric value")
}

pub(super) fn is_container(value: &Jsonb) -> bool {
    !value.is_scalar()
}

/// One more item, if there is room for as many.
pub(super) fn push(found: &mut Vec<Item>, item: Item) -> Result<(), ValueError> {
    if found.len() == found.capacity() {
        poll::room_for::<Item>(2 * found.len())?;
    }
    found.push(item);
    Ok(())
}
